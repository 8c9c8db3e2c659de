"""Loads labelled traces of agents from JSON and scores the loop detector on them.

The format knows nothing of the detector: a trace lists steps with what each one recorded, and a label says by which
step a loop is to be found, or that the work is honest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from runtime.context.actions import ActionRecord
from runtime.context.loop_records import EDITING_ADVICE, LoopRecorder
from runtime.context.understanding import Fact, FactCategory
from runtime.loops.detector import LoopDetector
from runtime.loops.records import Detection, LoopKind, Outcome, StepRecord

Score = Literal["found", "missed", "wrong kind", "false alarm", "honest"]


class TraceFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """States what was concluded from the output of a step."""

    category: Literal["code_structure", "inference", "pattern", "verification", "error"]
    statement: str


class TraceStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Records one action after it was carried out; `state` None: the same as before."""

    step: int
    action: str
    result: Outcome
    target: str | None = None
    parameters: dict[str, Any] = {}
    error: str | None = None
    error_category: (
        Literal["not_found", "syntax_error", "extraction_blocked", "test_regression", "timeout", "other"] | None
    ) = None
    facts: tuple[TraceFact, ...] = ()
    files_read: tuple[str, ...] | None = None
    state: str | None = None
    by_system: bool = False
    actor: Literal["agent", "system"] = "agent"
    comment: str = ""


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names the kinds that are right answers, and the steps from which and by which one of them is due."""

    kinds: tuple[LoopKind, ...]
    by_step: int
    from_step: int = 0


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds a labelled trace; `label` None: honest work."""

    name: str
    label: Label | None
    steps: tuple[TraceStep, ...]
    comment: str = ""
    initial_state: str = "start"


def load_traces(folder: Path) -> list[Trace]:
    """Load the traces of all JSON files in `folder`; a file holds one or a list of them."""
    found = [trace for path in sorted(folder.glob("*.json")) for trace in parse_traces(path.read_bytes())]
    names = [trace.name for trace in found]
    if len(set(names)) < len(names):
        raise ValueError(f"names are given twice: {sorted({name for name in names if names.count(name) > 1})}")
    return found


def parse_traces(text: bytes | str) -> list[Trace]:
    """Parse one trace or a list of them."""
    plain = msgspec.json.decode(text)
    return msgspec.convert(plain if isinstance(plain, list) else [plain], list[Trace])


def records_of(trace: Trace) -> Iterator[StepRecord]:
    """Yield the neutral records of a trace."""
    recorder, state = LoopRecorder(), trace.initial_state
    for step in trace.steps:
        state = state if step.state is None else step.state
        action = ActionRecord(
            step=step.step,
            action=step.action,
            target=step.target,
            parameters=step.parameters,
            result=step.result,
            summary=step.comment,
            error=step.error,
        )
        facts = [
            Fact(
                id=f"{step.step}.{number}",
                category=FactCategory(fact.category),
                statement=fact.statement,
                confidence=1,
                source="trace:label",
                step=step.step,
            )
            for number, fact in enumerate(step.facts)
        ]
        yield recorder.record(
            action,
            state,
            facts,
            _files_read(step),
            category=step.error_category,
            is_state_restored=step.by_system,
            is_by_system=step.actor == "system",
        )


def _files_read(step: TraceStep) -> Sequence[str]:
    if step.files_read is not None:
        return step.files_read
    is_read = step.action == "read_file" and step.result == "success" and step.target is not None
    return [str(step.target)] if is_read else []


def first_detection(trace: Trace) -> Detection | None:
    """Return the first loop found in a trace that is fed step by step."""
    detector = LoopDetector(advice=EDITING_ADVICE, initial_state=trace.initial_state)
    return next((found for record in records_of(trace) if (found := detector.add(record))), None)


def score(trace: Trace) -> tuple[Score, Detection | None]:
    """Return how the first detection compares with the label."""
    found, label = first_detection(trace), trace.label
    if label is None:
        return ("honest" if found is None else "false alarm"), found
    if found is None or found.step > label.by_step:
        return "missed", found
    if found.step < label.from_step:
        return "false alarm", found
    return ("found" if found.kind in label.kinds else "wrong kind"), found


def report(traces: Iterable[Trace]) -> str:
    """Return the figures for a set of traces, with a line for each that did not come out as labelled."""
    scores = [(trace, *score(trace)) for trace in traces]
    loops = [result for trace, result, _ in scores if trace.label is not None]
    lines = [
        f"{len(loops)} loops: {loops.count('found')} found by the labelled step with a labelled kind,"
        f" {loops.count('wrong kind')} with another kind, {loops.count('missed')} missed;"
        f" {len(scores) - len(loops)} honest; {sum(result == 'false alarm' for _, result, _ in scores)} false alarms"
    ]
    for trace, result, found in scores:
        if result not in {"found", "honest"}:
            what = f"{found.kind} at step {found.step}: {found.description}" if found else "nothing found"
            wanted = f"{'/'.join(trace.label.kinds)} by step {trace.label.by_step}" if trace.label else "nothing"
            lines.append(f"{trace.name}: {result}: {what}; labelled: {wanted}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(load_traces(Path(__file__).with_name("traces"))))  # noqa: T201
