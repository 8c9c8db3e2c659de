"""Detects a run that repeats itself from its history, before it exhausts its bounds. Pure.

Visits of stages become the neutral records of `runtime.loops`. Most kinds are looked for in the visits of one stage, so
that neither parallel branches nor the other stages of a circle hide a loop; failures are looked for across stages. An
attempt that is followed by a retry is no visit. A visit whose output is new for its stage closes no loop and costs one
pass over the history; only where outputs repeat, the detector reads the history again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from runtime.loops.detector import LoopDetector
from runtime.loops.error_categories import error_category, error_digest
from runtime.loops.records import Detection, StepRecord
from runtime.loops.thresholds import NO_THRESHOLDS
from runtime.run.envelope import HistoryRecord

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")

DESCRIPTIONS = {
    "identical_action": "stage '{stage}' gave the same output {count} times in a row, limit {limit}",
    "no_progress": (
        "stage '{stage}' was visited {count} times in a row without a new output of it or of any other stage,"
        " limit {limit}"
    ),
    "oscillation": "the output of stage '{stage}' came back to an earlier one {count} times, limit {limit}",
}


class Visit(NamedTuple):
    """Describes a visit of a stage; `is_new`: its output is one that the stage had never given."""

    record: HistoryRecord
    is_new: bool


def digest_of(output: Mapping[str, Any]) -> str:
    """Return a digest of an output; it does not depend on the order of keys."""
    return hashlib.blake2b(_ENCODER.encode(output), digest_size=8).hexdigest()


def detect_loop(history: Sequence[HistoryRecord], stage: str, thresholds: Mapping[str, int]) -> Detection | None:
    """Return the most specific loop that the last visit of `stage` closes, or None.

    `identical_action` N: N consecutive visits with the same output, whatever other stages gave. `no_progress` N: N
    consecutive visits since any stage gave a new output. `oscillation` N: N returns to earlier outputs since then.
    `error_cycle` N and `semantic_loop` N: failures of different stages, as `runtime.loops` finds them for actions.
    """
    visits = list(_visits(history))
    own = next((visit for visit in reversed(visits) if visit.record.stage == stage), None)
    if own is None or own.is_new or not thresholds:
        return None
    if own.record.status == "error":
        return _first(_failures(visits), thresholds, ("error_cycle", "semantic_loop"))
    for kind, records in (
        ("identical_action", _outputs(visits, stage)),
        ("oscillation", _rounds(visits, stage)),
        ("no_progress", _rounds(visits, stage)),
    ):
        found = _first(records, thresholds, (kind,))
        if found is not None:
            text = DESCRIPTIONS[kind].format(stage=stage, count=found.count, limit=thresholds[kind])
            return msgspec.structs.replace(found, description=text)
    return None


def _visits(history: Sequence[HistoryRecord]) -> Iterator[Visit]:
    """Yield the visits that ended with an output or an error, in the order in which they ended."""
    given: set[tuple[str, str]] = set()
    last_attempts = {(record.stage, record.hop, record.item): record.attempt for record in history}
    for record in history:
        if record.status == "error" and record.attempt == last_attempts[(record.stage, record.hop, record.item)]:
            yield Visit(record, False)
        elif record.status == "success" and record.digest:
            output = (record.stage, record.digest)
            yield Visit(record, output not in given)
            given.add(output)


def _outputs(visits: Sequence[Visit], stage: str) -> Iterator[StepRecord]:
    """Yield the successful visits of a stage; what other stages gave in between does not count as news."""
    for number, (record, _) in enumerate(visits):
        if record.stage == stage and record.digest:
            yield StepRecord(number, stage, "success", state=record.digest)


def _rounds(visits: Sequence[Visit], stage: str) -> Iterator[StepRecord]:
    """Yield the successful visits of a stage; a visit brings news if any stage gave a new output since the last one."""
    has_news = False
    for number, (record, is_new) in enumerate(visits):
        has_news |= is_new
        if record.stage == stage and record.digest:
            yield StepRecord(number, stage, "success", state=record.digest, has_new_checks=has_news)
            has_news = False


def _failures(visits: Sequence[Visit]) -> Iterator[StepRecord]:
    """Yield all visits; an output that its stage had never given is a change for good."""
    given = 0
    for number, (record, is_new) in enumerate(visits):
        given += is_new
        yield StepRecord(
            number,
            record.stage,
            "failure" if record.status == "error" else "success",
            error_category=error_category(record.error),
            error=error_digest(record.error),
            state=str(given),
        )


def _first(records: Iterator[StepRecord], thresholds: Mapping[str, int], kinds: Sequence[str]) -> Detection | None:
    """Return the loop that the last record closes."""
    wanted = {kind: thresholds[kind] for kind in kinds if kind in thresholds}
    if not wanted:
        return None
    detector, found = LoopDetector(msgspec.structs.replace(NO_THRESHOLDS, **wanted), initial_state=""), None
    for record in records:
        found = detector.add(record)
    return found
