"""Analyses the violating function as it is now: lines, measures, what could be extracted.

Only the settings of the project are read, for what it asks of annotations.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from actors.capabilities.violation_fix.agents.fix_state import FixTask
from actors.capabilities.violation_fix.checks.typing_config import typing_rules
from actors.capabilities.violation_fix.policies.fix_rules import GOALS
from actors.capabilities.violation_fix.policies.refactoring_rules import PlanningOptions, exceeded_of, measures_of
from actors.capabilities.violation_fix.refactoring.candidates import CandidateSearch
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from actors.capabilities.violation_fix.refactoring.name_scopes import FunctionPlace, find_function
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.simplifications.registry import SIMPLIFICATIONS, simplifications_in
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, last_line
from runtime.context.fields import MAX_SOURCE_CHARS
from runtime.context.models import Analysis, ExtractionSuggestion, Fact, FactCategory

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
    found = CandidateSearch(text, place, typing=typing).ranked(needed, limits)
    return tuple(
        ExtractionSuggestion(
            start_line=candidate.start_line,
            end_line=candidate.end_line,
            suggested_name=candidate.suggested_name,
            reason=f"{candidate.reason}; complexity less {candidate.complexity_removed}",
        )
        for candidate in found[:MAX_SUGGESTIONS]
    )


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
