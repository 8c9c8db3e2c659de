"""What the traverser hands on: facts, the lines that tools returned, and what came of each step."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import Fact, ProducedRange
from actors.capabilities.code_analysis.evidence.steps import StepReport, purpose_of_old
from actors.capabilities.code_analysis.handover.reading import optional, required
from runtime.run.stage_view import StageView
from runtime.tools.result import Attempt


class ContextSize(msgspec.Struct, frozen=True):
    """What tools gave, and what travels on in its place, in estimated tokens."""

    raw_tokens: int = 0
    fact_tokens: int = 0


class CodeRead(msgspec.Struct, frozen=True, array_like=True):
    """A text of code that travels on."""

    file: str
    start_line: int
    chars: int


class ExecutionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a traverser, and of the stage that puts those of several together."""

    results: list[StepReport]
    facts: list[Fact] = []
    code_read: list[CodeRead] = []
    ranges: list[ProducedRange] = []
    commits: list[CommitNote] = []
    files_read: list[str] = []
    context: ContextSize = ContextSize()
    all_succeeded: bool = True
    attempt_history: dict[str, list[Attempt]] = {}
    total_time_ms: int = 0


class TraversedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of the traversers of a fan-out, in the order of the groups."""

    items: list[ExecutionOutput]


def execution_of(view: StageView) -> ExecutionOutput:
    """What the traverser handed on; HandoverError without it."""
    found = execution_if_any(view)
    return required(view, "execution", ExecutionOutput) if found is None else found


def execution_if_any(view: StageView) -> ExecutionOutput | None:
    """What the traverser handed on, None before it has."""
    found = optional(view, "execution", ExecutionOutput)
    return None if found is None else _with_purposes(found)


def traversed_of(view: StageView) -> list[ExecutionOutput]:
    """What the traversers of a fan-out handed on; HandoverError without it."""
    return [_with_purposes(found) for found in required(view, "traversed", TraversedOutput).items]


def _with_purposes(found: ExecutionOutput) -> ExecutionOutput:
    """The output with a purpose for each fact; those of older logs get that of the ids of their steps."""
    if all(fact.purpose is not None or not fact.step for fact in found.facts):
        return found
    return msgspec.structs.replace(found, facts=[_with_purpose(fact) for fact in found.facts])


def _with_purpose(fact: Fact) -> Fact:
    if fact.purpose is not None or not fact.step:
        return fact
    also_for = tuple(dict.fromkeys(purpose_of_old(step) for step in fact.also_by))
    return msgspec.structs.replace(fact, purpose=purpose_of_old(fact.step), also_for=also_for)
