"""Finds run logs with unfinished runs that no living owner drives, and the log that holds a run.

Reading never creates, changes or migrates a log. A log that cannot be read is left out and reported once for each call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from runtime.errors import StateStorageError
from runtime.primitives.ids import RunId
from runtime.store.opening import open_run_log, run_log_names
from runtime.store.options import StoreOptions
from runtime.store.run_records import Lease, RunSummary
from runtime.store.sql_run_log import SqlRunLog

log = logging.getLogger(__name__)

Found = TypeVar("Found")


class UnownedLog(NamedTuple):
    """Describes a log without a living owner. `since_ms`: when its last lease ended; 0 if it never had one."""

    name: str
    since_ms: int
    unfinished: list[RunSummary]


class FoundLogs(NamedTuple):
    """Holds the logs that may be adopted. `next_end_ms`: when the first lease of another such log ends."""

    unowned: list[UnownedLog]
    next_end_ms: int | None


class FoundRun(NamedTuple):
    """Tells where a run lies: the log, its lease if that has not ended, and the summary of the run."""

    log_name: str
    lease: Lease | None
    summary: RunSummary


def unowned_logs(options: StoreOptions, now_ms: int, held: Collection[str] = (), holder: str = "") -> FoundLogs:
    """Return the logs with unfinished runs and without a lease at `now_ms`, except those `held` by the caller.

    With a `holder`, return those that it has a lease of instead: its former process took them. Raises
    StateStorageError if a server cannot be queried.
    """

    def look(name: str, run_log: SqlRunLog) -> UnownedLog | None:
        last, unfinished = run_log.last_lease(), run_log.unfinished()
        if holder:
            is_held = last is not None and last.holder == holder
            return UnownedLog(name, now_ms, unfinished) if is_held else None
        return UnownedLog(name, 0 if last is None else last.until_ms, unfinished) if unfinished else None

    found = list(_looked_at(options, held, look))
    ends_ms = [each.since_ms for each in found if now_ms < each.since_ms]
    return FoundLogs([each for each in found if each.since_ms <= now_ms], min(ends_ms, default=None))


def find_run(options: StoreOptions, run_id: RunId, now_ms: int, held: Collection[str] = ()) -> FoundRun | None:
    """Return where a run lies, whichever system recorded it; None if it is in no log except those `held`."""

    def look(name: str, run_log: SqlRunLog) -> FoundRun | None:
        summary = run_log.summary(run_id)
        return None if summary is None else FoundRun(name, run_log.lease(now_ms), summary)

    return next(_looked_at(options, held, look), None)


@contextmanager
def reading(options: StoreOptions, name: str) -> Iterator[SqlRunLog]:
    """Open a log for reading only, and close it afterwards. Raises StateStorageError."""
    run_log = open_run_log(options, name, readonly=True)
    try:
        yield run_log
    finally:
        run_log.close()


def _looked_at(
    options: StoreOptions, held: Collection[str], look: Callable[[str, SqlRunLog], Found | None]
) -> Iterator[Found]:
    for name in run_log_names(options):
        if name in held:
            continue
        try:
            with reading(options, name) as run_log:
                found = look(name, run_log)
        except StateStorageError as error:
            log.warning("run_log.unreadable", extra={"run_log": name, "reason": error.message})
            continue
        if found is not None:
            yield found
