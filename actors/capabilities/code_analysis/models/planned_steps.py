"""Converts a model's planned tool calls to steps with tool arguments and purposes.

A model names a tool, a target and goals; the purpose of the step follows from these and from the question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.code_analysis.answers.lists.listing import type_name
from actors.capabilities.code_analysis.evidence.steps import PURPOSE_OF_TOOL, Purpose, Step
from actors.capabilities.code_analysis.models.schemas import PlannedStep
from actors.capabilities.code_analysis.models.step_arguments import IsFile, arguments_of
from actors.capabilities.code_analysis.plans.listing import LISTED_PER_STEP
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.question.listing_scope import ALL, kinds_listed
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.primitives.dotted_names import last_part
from runtime.run.goals import Goal

# Of what one search found, the places that are read without being asked for.
READ_OF_SEARCH = {"locate": 8, "explore_symbol_usage": 4}
FOUND_LINES = 240


class _Call(NamedTuple):
    """Pairs a tool's target with the question and the aspects of the goals it serves."""

    question: Question
    target: str
    aspects: Collection[str]


def _is_of_kind(call: _Call) -> bool:
    named = call.target.lower().removeprefix("all ")
    return bool(kinds_listed(call.question)) and (
        named == ALL or bool(kinds_listed(msgspec.structs.replace(call.question, subject=named)))
    )


def _is_of_settings(call: _Call) -> bool:
    return set(call.aspects) == {"configuration"}


def _is_of_heirs(call: _Call) -> bool:
    return call.question.asks_for_list and last_part(call.target) == type_name(call.question)


def _is_compared(call: _Call) -> bool:
    return kind_of(call.question).names_each


def _is_document_of_list(call: _Call) -> bool:
    return call.question.asks_for_list and kind_of_path(call.target) == "docs"


def _is_guide(call: _Call) -> bool:
    return call.question.asks_for_guidance and kind_of_path(call.target) == "docs"


# Tool, condition, purpose: the first row that holds tells, and without any the tool does.
_PURPOSES: tuple[tuple[str, Callable[[_Call], bool], Purpose], ...] = (
    ("locate", _is_of_kind, "all_of_kind"),
    ("locate", _is_of_settings, "settings"),
    ("explore_symbol_usage", _is_of_heirs, "heirs"),
    ("map_module", _is_compared, "members"),
    ("read_code", _is_document_of_list, "listed"),
    ("read_code", _is_guide, "guidance"),
)


def planned_steps(
    planned: Sequence[PlannedStep], question: Question, goals: Sequence[Goal], tools: Collection[str], is_file: IsFile
) -> list[Step]:
    """Convert a model's plan to steps, without repeats; what a search finds is read after all that it asks for."""
    aspect_of_goal = {str(goal.id): aspect_of(goal) for goal in goals}
    steps: dict[bytes, Step] = {}
    for number, wanted in enumerate(planned):
        given = arguments_of(wanted.tool, wanted.target, wanted.options, is_file)
        if wanted.tool not in tools or given is None:
            continue
        named = tuple(goal for goal in dict.fromkeys(wanted.goals) if goal in aspect_of_goal)
        call = _Call(question, wanted.target.strip(), [aspect_of_goal[goal] for goal in named])
        purpose = _purpose_of(wanted.tool, call)
        arguments = _all_of_kind(call) if purpose == "all_of_kind" else given
        step = Step(f"m{number}", purpose, wanted.tool, arguments, named or tuple(aspect_of_goal), wanted.why)
        steps.setdefault(msgspec.msgpack.encode((wanted.tool, arguments)), step)
    made = list(steps.values())
    reads = [_reading(question, step) for step in made if step.tool in READ_OF_SEARCH] if "read_code" in tools else []
    return [*made, *reads]


def _purpose_of(tool: str, call: _Call) -> Purpose:
    rows = (purpose for of_tool, holds, purpose in _PURPOSES if of_tool == tool and holds(call))
    return next(rows, PURPOSE_OF_TOOL.get(tool, "find"))


def _all_of_kind(call: _Call) -> dict[str, Any]:
    """Build the arguments of a search for all of a kind, which no search by words finds."""
    all_of_it: dict[str, Any] = {"query": ALL, "max_results": LISTED_PER_STEP}
    all_of_it["kinds"] = sorted(kinds_listed(call.question))
    return {**all_of_it, **({"scope": call.question.paths[0]} if call.question.paths else {})}


def _reading(question: Question, search: Step) -> Step:
    """Build the step that reads the best places of one search, in the order in which it found them."""
    purpose: Purpose = "guidance" if question.asks_for_guidance else "read"
    limit, why = {"max_lines": FOUND_LINES}, f"read what {search.id} found"
    count = READ_OF_SEARCH[search.tool]
    return Step(f"{search.id}_read", purpose, "read_code", limit, search.goals, why, (search.id,), count, in_order=True)
