"""Adds to the runs of a list what they were asked, by their first events alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from runtime.errors import StateStorageError, WireError
from runtime.primitives.ids import RunId
from runtime.store.opening import run_log_names
from runtime.store.options import StoreOptions
from runtime.store.run_log import RunSummary, SqlRunLog
from runtime.store.unowned_logs import reading
from runtime.supervision.events import request_event

MAX_QUESTION_CHARS = 300


class AskedRun(RunSummary, frozen=True):
    """Describes a run in a list with its `question`: its beginning in one line; empty if it is too long to be read."""

    question: str = ""


def asked_runs(options: StoreOptions, runs: Sequence[RunSummary]) -> list[AskedRun]:
    """Return the runs with the beginnings of their questions."""
    told = questions_of(options, [run.run_id for run in runs])
    return [AskedRun(**msgspec.structs.asdict(run), question=shortened(told.get(run.run_id, ""))) for run in runs]


def questions_of(options: StoreOptions, run_ids: Sequence[RunId]) -> dict[RunId, str]:
    """Return the questions with which runs of any log began; a very long one is left out."""
    found: dict[RunId, str] = {}
    for name in run_log_names(options) if run_ids else ():
        with reading(options, name) as log:
            for event in log.first_events(run_ids):
                found[event.run_id] = request_event([event]).request.raw_input
    return found


def whole_questions(log: SqlRunLog, run_ids: Sequence[RunId]) -> dict[RunId, str]:
    """Return the questions of runs of a log, however long; one that cannot be read is left out."""
    events = {event.run_id: event for event in log.first_events(run_ids)}
    for run_id in run_ids:
        if run_id not in events:
            with suppress(WireError, StateStorageError):
                events.update((event.run_id, event) for event in log.events(run_id, to_seq=1))
    return {run_id: request_event([event]).request.raw_input for run_id, event in events.items()}


def shortened(question: str, most: int = MAX_QUESTION_CHARS) -> str:
    """Return the beginning of a question, in one line."""
    line = " ".join(question[: 2 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
