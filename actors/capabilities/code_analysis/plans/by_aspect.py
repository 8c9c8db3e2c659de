"""Builds the steps that most kinds of questions share, for each aspect that has a goal.

A kind that needs other steps passes what differs, or builds its plan from the functions of this package itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.choices import choice_steps
from actors.capabilities.code_analysis.plans.history import history_steps
from actors.capabilities.code_analysis.plans.listing import listing_steps, structure_steps
from actors.capabilities.code_analysis.plans.searches import (
    LINES,
    LOCATED_PER_STEP,
    MAX_NAMED,
    READ_LINES,
    READ_PLACES,
    SYMBOL,
    answer_steps,
    guide_steps,
    locate,
    word_steps,
)
from actors.capabilities.code_analysis.question.kinds import PlanRequest, kind_of
from runtime.codebase.search.values.named_values import VALUES

WHOLE_LINES = 200
TRACED_CALLS = 3
MAX_TESTS = 50
MAX_FITTING_TESTS = 6

# Aspects whose steps do not build on the search for places.
_BY_THEMSELVES = frozenset({"answer", "structure", "listing"})
_USING = ("usage", "tests", "mechanism", "configuration")

# The ids of the steps that found places → the steps that look at these.
Following = Callable[[tuple[str, ...]], list[Step]]


def steps_by_aspect(
    request: PlanRequest,
    *,
    searches: Sequence[Step] = (),
    reads_whole: bool = True,
    compares: Following | None = None,
) -> list[Step]:
    """Build the steps for the aspects of a request, in order.

    `searches` follow the search for the topic. `reads_whole`: the best place is read whole where its mechanism is asked
    for. `compares` builds the steps that read what is compared.
    """
    steps: list[Step] = []
    steps += choice_steps(request)
    if "answer" in request.goals:
        steps += answer_steps(request, request.goals["answer"])
    if "structure" in request.goals:
        steps += structure_steps(request.question, request.goals["structure"])
    if "listing" in request.goals:
        steps += listing_steps(request.question, request.goals["listing"])
    if request.goals.keys() <= _BY_THEMSELVES:
        return steps
    found = _searches(request, searches)
    found_by = tuple(step.id for step in found)
    reads = _reads(request, found_by, reads_whole)
    changes = history_steps(request, found_by)
    compared = [] if compares is None else compares(found_by)
    uses = _uses(request, found_by)
    goals = tuple(request.goals.values())
    guides = guide_steps(request.question, goals) if request.question.asks_for_guidance else []
    return [*steps, *found, *_maps(request), *reads, *changes, *compared, *_tests(request, found_by), *uses, *guides]


def _searches(request: PlanRequest, more: Sequence[Step]) -> list[Step]:
    question, goals = request.question, tuple(request.goals.values())
    steps = [locate("find", "find", question.topic or question.text, goals, LOCATED_PER_STEP), *more]
    for number, name in enumerate(question.identifiers[:MAX_NAMED]):
        steps.append(locate(f"name{number}", "find", name, goals, LOCATED_PER_STEP))
    if "configuration" in request.goals:
        goal = (request.goals["configuration"],)
        query = f"{question.subject} setting configuration default"
        steps.append(locate("config", "settings", query, goal, LOCATED_PER_STEP))
        steps.append(locate("values", "values", question.subject, goal, LOCATED_PER_STEP, sorted(VALUES)))
    return [*steps, *word_steps(request, goals, LOCATED_PER_STEP)]


def _maps(request: PlanRequest) -> list[Step]:
    goals = tuple(request.goals.values())
    return [
        Step(f"map{number}", "structure", "map_module", {"path": path}, goals, f"the question names {path}")
        for number, path in enumerate(request.question.paths[:MAX_NAMED])
    ]


def _reads(request: PlanRequest, found_by: tuple[str, ...], reads_whole: bool) -> list[Step]:
    goals, short, all_lines = tuple(request.goals.values()), {"max_lines": READ_LINES}, {"max_lines": WHOLE_LINES}
    read = Step("read", "read", "read_code", short, goals, "read the best places", found_by, READ_PLACES, LINES)
    if "mechanism" not in request.goals or not reads_whole:
        return [read]
    why = "read all of what fits best"
    return [read, Step("whole", "read", "read_code", all_lines, goals, why, found_by, 1, SYMBOL)]


def _tests(request: PlanRequest, found_by: tuple[str, ...]) -> list[Step]:
    if "tests" not in request.goals or not request.question.asks_for_tests:
        return []
    question, goal = request.question, (request.goals["tests"],)
    why, more = "which tests belong to it", {"max_results": MAX_TESTS}
    related = Step("tests", "tests", "find_related", more, goal, why, found_by, 1, SYMBOL)
    if question.identifiers or question.paths:
        return [related]
    asked, why = {"query": question.text, "max_results": MAX_FITTING_TESTS}, "which tests fit it"
    return [Step("fitting", "tests", "find_tests", asked, goal, why), related]


def _uses(request: PlanRequest, found_by: tuple[str, ...]) -> list[Step]:
    """Build steps that explore the uses of named things and of the best place, and follow the calls of that one."""
    question = request.question
    used = tuple(request.goals[aspect] for aspect in _USING if aspect in request.goals)
    if not used:
        return []
    named = [
        Step(f"use{number}", "usage", "explore_symbol_usage", {"symbol": name}, used, f"who uses {name}")
        for number, name in enumerate(question.identifiers[:2])
    ]
    why, deep = "who uses the best place", {"max_depth": TRACED_CALLS}
    best = Step("use", "usage", "explore_symbol_usage", {}, used, why, found_by, 1, {"symbol": "name"})
    traced = Step("trace", "flow", "trace_entry_point", deep, used, "follow its calls", found_by)
    follow = [msgspec.structs.replace(traced, fill={"entry": "name"})] if question.shows_flow else []
    goals = tuple(request.goals.values())
    delegate = _delegate_steps(goals, (*found_by, "whole", best.id)) if kind_of(question).follows_delegate else []
    return [*named, best, *follow, *delegate]


def _delegate_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    """Build steps that read the delegate of the best place, if it only delegates, and follow its calls."""
    why, whole = "the best place passes its work on to it", {"max_lines": WHOLE_LINES}
    code = Step("inner", "passed_on_code", "read_code", whole, goals, why, found_by, 1, SYMBOL, passed_on=True)
    entry, deep = {"entry": "name"}, {"max_depth": 1}
    calls = Step("inner_calls", "passed_on_calls", "trace_entry_point", deep, goals, why, found_by, 1, entry)
    return [code, msgspec.structs.replace(calls, passed_on=True)]
