"""Converts a model's planned tool calls to steps with tool arguments and purposes.

A model names a tool, a target and goals; the purpose of the step follows from these and from the question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.code_analysis.agents.planner import (
    LISTED_PER_STEP,
    LOCATED_PER_STEP,
    READ_LINES,
    READ_PLACES,
    serving_deed,
)
from actors.capabilities.code_analysis.answers.listing import type_name
from actors.capabilities.code_analysis.evidence.steps import PURPOSE_OF_TOOL, Purpose, Step
from actors.capabilities.code_analysis.models.schemas import PlannedStep
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.listing_scope import ALL, kinds_listed
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import query_terms
from runtime.primitives.dotted_names import last_part
from runtime.run.goals import Goal

# Which parameter of a tool takes what a model wrote as the target.
TARGET_OF_TOOL: dict[str, str] = {
    "locate": "query",
    "explore_symbol_usage": "symbol",
    "map_module": "path",
    "read_code": "path",
}

_MORE_ARGUMENTS: dict[str, dict[str, Any]] = {
    "locate": {"max_results": LOCATED_PER_STEP},
    "read_code": {"max_lines": READ_LINES},
}

# Words of a search for what serves requests.
_SERVING = frozenset(query_terms("handle dispatch http request serve route").counts)


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


def _is_of_servers(call: _Call) -> bool:
    return serving_deed(call.question) is not None and not _SERVING.isdisjoint(query_terms(call.target).counts)


def _is_of_heirs(call: _Call) -> bool:
    return call.question.kind == "list_all" and last_part(call.target) == type_name(call.question)


def _is_compared(call: _Call) -> bool:
    return call.question.kind == "compare"


def _is_document_of_list(call: _Call) -> bool:
    return call.question.kind == "list_all" and kind_of_path(call.target) == "docs"


def _is_guide(call: _Call) -> bool:
    return call.question.asks_for_guidance and kind_of_path(call.target) == "docs"


# Tool, condition, purpose: the first row that holds tells, and without any the tool does.
_PURPOSES: tuple[tuple[str, Callable[[_Call], bool], Purpose], ...] = (
    ("locate", _is_of_kind, "all_of_kind"),
    ("locate", _is_of_settings, "settings"),
    ("locate", _is_of_servers, "serving"),
    ("explore_symbol_usage", _is_of_heirs, "heirs"),
    ("map_module", _is_compared, "members"),
    ("read_code", _is_document_of_list, "listed"),
    ("read_code", _is_guide, "guidance"),
)


def planned_steps(
    planned: Sequence[PlannedStep], question: Question, goals: Sequence[Goal], tools: Collection[str]
) -> list[Step]:
    """Convert a model's plan to steps, without repeats; add a step that reads the places found by the searches."""
    aspect_of_goal = {str(goal.id): aspect_of(goal) for goal in goals}
    steps: dict[tuple[str, str], Step] = {}
    for number, wanted in enumerate(planned):
        target = wanted.target.strip()
        if wanted.tool not in tools or not target:
            continue
        named = tuple(goal for goal in dict.fromkeys(wanted.goals) if goal in aspect_of_goal)
        call = _Call(question, target, [aspect_of_goal[goal] for goal in named])
        purpose = _purpose_of(wanted.tool, call)
        arguments = _arguments(wanted.tool, purpose, call)
        step = Step(f"m{number}", purpose, wanted.tool, arguments, named or tuple(aspect_of_goal), wanted.why)
        steps.setdefault((wanted.tool, target), step)
    searches = tuple(step.id for step in steps.values() if step.tool == "locate")
    read = [_reading(question, tuple(aspect_of_goal), searches)] if searches and "read_code" in tools else []
    return [*steps.values(), *read]


def _purpose_of(tool: str, call: _Call) -> Purpose:
    rows = (purpose for of_tool, holds, purpose in _PURPOSES if of_tool == tool and holds(call))
    return next(rows, PURPOSE_OF_TOOL.get(tool, "find"))


def _arguments(tool: str, purpose: Purpose, call: _Call) -> dict[str, Any]:
    if purpose == "all_of_kind":
        # No search by words finds these.
        all_of_it: dict[str, Any] = {"query": ALL, "max_results": LISTED_PER_STEP}
        all_of_it["kinds"] = sorted(kinds_listed(call.question))
        return {**all_of_it, **({"scope": call.question.paths[0]} if call.question.paths else {})}
    return {TARGET_OF_TOOL[tool]: call.target, **_MORE_ARGUMENTS.get(tool, {})}


def _reading(question: Question, goals: tuple[str, ...], searches: tuple[str, ...]) -> Step:
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    purpose: Purpose = "guidance" if question.asks_for_guidance else "read"
    limit, why = {"max_lines": READ_LINES}, "read what was found"
    return Step("read", purpose, "read_code", limit, goals, why, searches, READ_PLACES, lines)
