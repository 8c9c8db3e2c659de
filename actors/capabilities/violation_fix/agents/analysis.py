"""Analyses the violating function as it is now: lines, measures, what could be extracted.

Only the settings of the project are read, for what it asks of annotations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from actors.capabilities.violation_fix.agents.fix_state import FixTask
from actors.capabilities.violation_fix.checks.typing_config import typing_rules
from actors.capabilities.violation_fix.policies.fix_rules import GOALS
from actors.capabilities.violation_fix.policies.refactoring_rules import (
    GiveUp,
    PlanningOptions,
    Proposal,
    exceeded_of,
    measures_of,
    plan_refactorings,
)
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.cutting.candidates import Candidate, CandidateSearch, open_name
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, find_function
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.simplifications.registry import SIMPLIFICATIONS, simplifications_in
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, last_line
from runtime.context.fields import MAX_SOURCE_CHARS, MAX_STATEMENT_CHARS
from runtime.context.models import UNNAMED, Analysis, ExtractionSuggestion, Fact, FactCategory

MAX_SUGGESTIONS = 5


class Analysed(NamedTuple):
    """Holds an analysis, and the facts that follow from it."""

    analysis: Analysis
    facts: tuple[Fact, ...]


def analysed(task: FixTask, source: str, step: int) -> Analysed:
    """Return the analysis of the violating function, empty where the violation lies in none or the file is broken."""
    limits = limits_of(task)
    text = SourceText(source)
    try:
        place = find_function(text.tree, task.symbol) if task.symbol else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        place = None
    if place is None:
        return Analysed(Analysis(), _facts_of_safe_fix(task, step))
    first, last = place.function.lineno, last_line(place.function)
    suggestions = _suggestions(task, text, place, limits)
    analysis = Analysis(
        violating_function=task.symbol,
        function_lines=(first, last),
        function_source=text.lines(first, last)[:MAX_SOURCE_CHARS],
        extraction_suggestions=suggestions,
    )
    return Analysed(analysis, tuple(_facts(task, place, first, last, suggestions, step)))


def has_first_step(task: FixTask, analysis: Analysis, source: str) -> bool:
    """Return whether something can be done at once: a safe fix, an extraction, a simplification, or parameters."""
    if task.found.fix == "safe" or analysis.extraction_suggestions or "arguments" in GOALS.get(task.found.check_id, ()):
        return True
    if not analysis.violating_function:
        return False
    text = SourceText(source)
    place = find_function(text.tree, task.symbol)
    if place is None:
        return False
    found = simplifications_in(text, place, task.request.line_length)
    return any(_is_simplified(spot, kind) for spot, kind in found)


def _is_simplified(spot: Spot, kind: str) -> bool:
    try:
        return SIMPLIFICATIONS[kind](spot) is not None
    except RefusedRefactoring:
        return False


def limits_of(task: FixTask) -> Limits:
    """Return the limits that the function and each new one have to keep."""
    return Limits(complexity=task.options.max_complexity)


def _suggestions(
    task: FixTask, text: SourceText, place: FunctionPlace, limits: Limits
) -> tuple[ExtractionSuggestion, ...]:
    options = PlanningOptions(goals=GOALS.get(task.violation.check_id, frozenset()))
    exceeded = exceeded_of(place, limits, options)
    if not exceeded:
        return ()
    needed = max(exceeded.get("complexity", 0), exceeded.get("branches", 0), 1)
    typing = typing_rules(Path(task.work_tree.folder), task.file)
    search = CandidateSearch(text, place, typing=typing, leaves_names_open=task.request.asks_model)
    return tuple(map(_suggestion, search.ranked(needed, limits)[:MAX_SUGGESTIONS]))


def _suggestion(candidate: Candidate) -> ExtractionSuggestion:
    taken = f"takes {', '.join(candidate.inputs) or 'nothing'}, returns {', '.join(candidate.outputs) or 'nothing'}"
    return ExtractionSuggestion(
        start_line=candidate.start_line,
        end_line=candidate.end_line,
        suggested_name=None if candidate.is_unnamed else candidate.suggested_name,
        reason=f"{taken if candidate.is_unnamed else candidate.reason}; complexity less {candidate.complexity_removed}",
    )


def first_of_plan(task: FixTask, source: str, tried: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the first step of a plan that brings the function within its limits, if somebody names its blocks.

    `tried`: the edits that are not to be repeated. None where the violation lies in no function, or no plan is found.
    The parameter `name` is `UNNAMED` where the new function has yet to be named.
    """
    if not task.symbol or task.violation.check_id not in GOALS:
        return None
    options = PlanningOptions(
        line_length=task.request.line_length,
        goals=GOALS[task.violation.check_id],
        typing=typing_rules(Path(task.work_tree.folder), task.file),
        leaves_names_open=True,
    )
    plan = plan_refactorings(source, task.symbol, limits_of(task), _keys(task.symbol, tried), options)
    if isinstance(plan, GiveUp):
        return None
    first, further = plan.steps[0], len(plan.steps) - 1
    parameters: dict[str, Any] = {name: value for name, value in first.parameters.items() if name != "function"}
    if first.is_unnamed:
        parameters["name"] = UNNAMED
    after = f"after it and {further} more like it" if further else "after it"
    return {"action": first.action, "parameters": parameters, "why": f"{first.suggestion}; {after} the limit is kept"}


def led_by(analysis: Analysis, step: Mapping[str, Any]) -> Analysis:
    """Return the analysis with the extraction of a step as its first suggestion, so that its lines are shown."""
    if step["action"] != "extract_function":
        return analysis
    lines = step["parameters"]["start_line"], step["parameters"]["end_line"]
    why = step["why"][:MAX_STATEMENT_CHARS]
    name = step["parameters"]["name"]
    first = ExtractionSuggestion(
        start_line=lines[0], end_line=lines[1], suggested_name=None if name == UNNAMED else name, reason=why
    )
    others = [each for each in analysis.extraction_suggestions if (each.start_line, each.end_line) != lines]
    return analysis.changed(extraction_suggestions=(first, *others[: MAX_SUGGESTIONS - 1]))


def _keys(function: str, tried: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the keys of edits by which the planner knows them, whoever has named what they made."""
    found = set()
    for each in tried:
        parameters = {"function": function, **each.get("parameters", {})}
        found.add(Proposal(str(each["action"]), parameters, "").key)
        if each["action"] == "extract_function" and {"start_line", "end_line"} <= parameters.keys():
            name = open_name(parameters["start_line"], parameters["end_line"])
            found.add(Proposal("extract_function", {"function": function, "name": name}, "").key)
    return frozenset(found)


def _facts_of_safe_fix(task: FixTask, step: int) -> tuple[Fact, ...]:
    """Return what is known of a violation outside any function, if the linter can fix it."""
    found = task.found
    if found.fix != "safe":
        return ()
    statement = f"The linter has a safe fix of {found.check_id} at line {found.line} of {task.file}"
    return (_fact("fix", statement, f"{task.file}:{found.check_id}", step),)


def _fact(kind: str, statement: str, subject: str, step: int) -> Fact:
    return Fact(
        id=f"analysis-{step}-{kind}",
        category=FactCategory.CODE_STRUCTURE,
        statement=statement,
        confidence=1.0,
        source=f"analysis:{kind}",
        step=step,
        kind=f"analysis.{kind}",
        subject=subject,
    )


def _facts(
    task: FixTask,
    place: FunctionPlace,
    first: int,
    last: int,
    suggestions: tuple[ExtractionSuggestion, ...],
    step: int,
) -> list[Fact]:
    measures = measures_of(place)
    told = {
        "lines": f"Function '{task.symbol}' spans lines {first}-{last} of {task.file}",
        "complexity": f"Function '{task.symbol}' has complexity {measures.complexity}, "
        f"{measures.branches} branches, {measures.statements} statements and {measures.arguments} parameters",
        "candidates": f"{len(suggestions)} blocks of '{task.symbol}' could be extracted",
    }
    return [_fact(kind, statement, task.symbol, step) for kind, statement in told.items()]
