"""Defines the output of the traverser: facts, the ranges that tools returned, and step reports."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import CodeFact, ProducedRange
from actors.capabilities.code_analysis.evidence.steps import StepReport, purpose_of_old
from actors.capabilities.code_analysis.handover.explained import ExplainedSteps
from actors.capabilities.code_analysis.handover.reading import optional, required
from runtime.codebase.search.presence.absence import Absence
from runtime.run.stage_view import StageView
from runtime.tools.result import Attempt


class ContextSize(msgspec.Struct, frozen=True):
    """Compares the size of the tool output with that of the facts passed on in its place, in estimated tokens."""

    raw_tokens: int = 0
    fact_tokens: int = 0


class CodeRead(msgspec.Struct, frozen=True, array_like=True):
    """Records a text of code that is passed on: its file, first line and length in characters."""

    file: str
    start_line: int
    chars: int


class ExecutionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of a traverser, and of the stage that merges the outputs of several.

    `meaning`: the share of the pieces that searches could compare by meaning; None if they went by words alone.
    `absence`: what of a question in words occurs nowhere or only aside; None if nothing was searched for it;
    `part_absences`: that of its parts, by the step that searched for one. `explained`: how the tools came to their
    results; only of a run that is to be explained.
    """

    results: list[StepReport]
    facts: list[CodeFact] = []
    code_read: list[CodeRead] = []
    ranges: list[ProducedRange] = []
    commits: list[CommitNote] = []
    files_read: list[str] = []
    context: ContextSize = ContextSize()
    all_succeeded: bool = True
    attempt_history: dict[str, list[Attempt]] = {}
    total_time_ms: int = 0
    meaning: float | None = None
    absence: Absence | None = None
    part_absences: dict[str, Absence] = {}
    explained: ExplainedSteps | msgspec.UnsetType = msgspec.UNSET


class TraversedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the outputs of the traversers of a fan-out, in the order of the groups."""

    items: list[ExecutionOutput]


def execution_of(view: StageView) -> ExecutionOutput:
    """Return the output of the traverser; raise HandoverError when it is missing."""
    found = execution_if_any(view)
    return required(view, "execution", ExecutionOutput) if found is None else found


def execution_if_any(view: StageView) -> ExecutionOutput | None:
    """Return the output of the traverser; None before there is one."""
    found = optional(view, "execution", ExecutionOutput)
    return None if found is None else _with_purposes(found)


def traversed_of(view: StageView) -> list[ExecutionOutput]:
    """Return the outputs of the traversers of a fan-out; raise HandoverError when they are missing."""
    return [_with_purposes(found) for found in required(view, "traversed", TraversedOutput).items]


def _with_purposes(found: ExecutionOutput) -> ExecutionOutput:
    """Add a purpose to facts without one: older logs have only step ids, from which it is derived."""
    if all(fact.purpose is not None or not fact.step for fact in found.facts):
        return found
    return msgspec.structs.replace(found, facts=[_with_purpose(fact) for fact in found.facts])


def _with_purpose(fact: CodeFact) -> CodeFact:
    if fact.purpose is not None or not fact.step:
        return fact
    also_for = tuple(dict.fromkeys(purpose_of_old(step) for step in fact.also_by))
    return msgspec.structs.replace(fact, purpose=purpose_of_old(fact.step), also_for=also_for)
