"""Closes runs that nobody drove for a long time and that nobody waits for.

A run whose owner died is continued by the next system that comes up. After `ABANDONED_AFTER_MS` without an owner, a
person who asked has long gone: the run is cancelled with the detail "abandoned: …" instead. Durable work, which a batch
or a caller with `wait` asked for, is continued whenever a system comes up.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from runtime.errors import SettingsError
from runtime.hosting.logged_runs import entry_of
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_records import RunLog, RunSummary
from runtime.supervision.decide import decide
from runtime.supervision.events import CancelRequested, Event, RunRequested
from runtime.supervision.replay import fold

ABANDONED_AFTER_MS = 3_600_000
ABANDONED = "abandoned"

log = logging.getLogger(__name__)


def is_abandoned(request: Request, last_at_ms: int, unowned_since_ms: int, now_ms: int, after_ms: int) -> bool:
    """Return whether a run is to be closed: not durable, and without owner and events for `after_ms` or longer."""
    return not request.is_durable and now_ms - max(last_at_ms, unowned_since_ms) >= after_ms


def close_abandoned(
    run_log: RunLog,
    epoch: int,
    pipelines: Mapping[str, PipelineConfig],
    unowned_since_ms: int,
    now_ms: int,
    after_ms: int = ABANDONED_AFTER_MS,
) -> list[RunId]:
    """Close the abandoned runs of a log that the caller has taken over with `epoch`; return their ids.

    `unowned_since_ms` is when the former lease of the log ended. A run whose rules cannot be read stays as it is.
    Raises StateStorageError.
    """
    pinned = PinnedPipelines(pipelines, run_log)
    old = [row for row in run_log.unfinished() if now_ms - max(row.last_at_ms, unowned_since_ms) >= after_ms]
    return [row.run_id for row in old if _closed(run_log, epoch, pinned, row, unowned_since_ms, now_ms, after_ms)]


def _closed(
    run_log: RunLog,
    epoch: int,
    pinned: PinnedPipelines,
    row: RunSummary,
    unowned_since_ms: int,
    now_ms: int,
    after_ms: int,
) -> bool:
    events = run_log.events(row.run_id)
    first = events[0].payload
    if not isinstance(first, RunRequested):
        return False
    if not is_abandoned(first.request, row.last_at_ms, unowned_since_ms, now_ms, after_ms):
        return False
    try:
        config = pinned.to_read(first)
    except SettingsError as error:
        log.warning("run.not_closed", extra={"run_id": row.run_id, "reason": error.message})
        return False
    if config is None:
        return False
    minutes = (now_ms - max(row.last_at_ms, unowned_since_ms)) // 60_000
    reason = f"{ABANDONED}: no system drove this run for {minutes} minutes, and nobody asked to have it kept"
    event = Event(row.run_id, events[-1].seq + 1, now_ms, CancelRequested(reason))
    decision = decide(config, fold(config, events), event)
    if decision.ignored is None:
        run_log.append_all([entry_of(config, event, decision.state.envelope)], epoch)
    return decision.ignored is None
