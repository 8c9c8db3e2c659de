"""Declares the run logs as a part of the store: a database for each log, and their retention."""

from __future__ import annotations

from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.errors import OwnedError
from runtime.store.sql_run_log import SCHEMA, SqlRunLog

RUNS_AT_ONCE = 200
ONE_OFF_PREFIXES = ("one-off-", "local-")
LEASE_MS = 60_000

_RUNS = Counted("runs", "finished run", "finished runs")
_LOGS = Counted("logs", "one-off log", "one-off logs")


def _sweep(log: SqlRunLog, task: SweepTask) -> Dropped:
    """Drop finished runs in short transactions, and the log of a one-off system in which no run is left."""
    may_go = task.can_remove and task.database.rpartition("/")[2].startswith(ONE_OFF_PREFIXES)
    if task.is_dry:
        old = len(log.finished_before(task.before_ms))
        return _dropped(old, False, may_go and len(log.runs(2**31)) == old)
    count = 0
    while log.finished_before(task.before_ms, 1):
        count += len(log.drop_finished(task.before_ms, RUNS_AT_ONCE))
    if may_go and not log.runs(1):
        return _dropped(count, False, _is_ours(log, task.now_ms))
    # An active owner reuses the room itself.
    return _dropped(count, count > 0 and log.lease(task.now_ms) is None, False)


def _dropped(runs: int, leaves_room: bool, is_spent: bool) -> Dropped:
    return Dropped({_RUNS.key: runs, _LOGS.key: int(is_spent)}, leaves_room, is_spent)


def _is_ours(log: SqlRunLog, now_ms: int) -> bool:
    """Acquire the lease of a log that is about to be removed, so that no other process starts to use it."""
    try:
        log.take_over("jeeves gc", now_ms, LEASE_MS)
    except OwnedError:
        return False
    return not log.runs(1)


RUN_LOGS = StorePart(
    name="runs",
    label="run log",
    is_family=True,
    schema=SCHEMA,
    open=lambda database, clock: SqlRunLog(database),
    counted=(_RUNS, _LOGS),
    sweep=_sweep,
)
