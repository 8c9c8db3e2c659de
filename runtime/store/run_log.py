"""Keeps the event log of every run; an event is recorded before anything follows from it.

`SqliteRunLog` keeps it in one SQLite file per owner, `SqlRunLog` in any database, `MemoryRunLog` as long as the process
lives. Events are addressed by run id and sequence number from 1; a number that is not the next is refused, so that two
owners can never both write the same step. The epoch is a fencing token: each takeover raises it, and writes under a
lower one are refused from then on, so a paused owner that resumes fails at its first write. Writers that give no epoch
(one-off runs, each with runs of its own) are not fenced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime.database.database import Durability
from runtime.database.sqlite_database import SqliteDatabase
from runtime.primitives.ids import RunId
from runtime.store.run_records import (
    Entry,
    Lease,
    RunLog,
    RunPlace,
    RunSummary,
    Snapshot,
    check_lease,
    check_order,
    check_snapshot,
    fenced,
)
from runtime.store.sql_run_log import SqlRunLog, started_by
from runtime.supervision.events import Event

__all__ = [
    "Entry",
    "Lease",
    "MemoryRunLog",
    "RunLog",
    "RunPlace",
    "RunSummary",
    "Snapshot",
    "SqlRunLog",
    "SqliteRunLog",
]


class MemoryRunLog:
    """Keeps a run log in memory, as long as the process lives."""

    def __init__(self) -> None:
        self._events: dict[RunId, list[Event]] = {}
        self._summaries: dict[RunId, RunSummary] = {}
        self._snapshots: dict[RunId, Snapshot] = {}
        self._rules: dict[str, bytes] = {}
        self._epoch, self._owner, self._until_ms = 0, "", 0

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        if now_ms is not None and not force:
            check_lease("the run log", self._owner, self._until_ms, now_ms)
        self._until_ms = 0 if now_ms is None or lease_ms is None else now_ms + lease_ms
        self._epoch, self._owner = self._epoch + 1, owner
        return self._epoch

    def renew(self, epoch: int, now_ms: int, lease_ms: int) -> None:
        self.check_owner(epoch)
        self._until_ms = now_ms + lease_ms

    def release(self, epoch: int, now_ms: int = 0) -> None:
        if epoch == self._epoch:
            self._until_ms = -now_ms

    def check_owner(self, epoch: int) -> None:
        if epoch < self._epoch:
            raise fenced(epoch, self._epoch, self._owner)

    def lease(self, now_ms: int) -> Lease | None:
        return Lease(self._owner, self._until_ms) if now_ms < self._until_ms else None

    def last_lease(self) -> Lease | None:
        return Lease(self._owner, abs(self._until_ms), self._until_ms < 0) if self._until_ms else None

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        self.append_all([Entry(pipeline, event, ends)], epoch)

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if epoch is not None:
            MemoryRunLog.check_owner(self, epoch)
        check_order({entry.event.run_id: len(self._events.get(entry.event.run_id, ())) for entry in entries}, entries)
        for entry in entries:
            run_id = entry.event.run_id
            self._events.setdefault(run_id, []).append(entry.event)
            self._summaries[run_id] = summarised(self._summaries.get(run_id), entry)

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        return self._events.get(run_id, [])[max(after_seq, 0) :]

    def runs(
        self, limit: int, user_id: str | None = None, finished: bool | None = None, before: RunPlace | None = None
    ) -> list[RunSummary]:
        rows = (
            row
            for row in self._summaries.values()
            if user_id in (None, row.user_id) and finished in (None, row.finished)
            if before is None or (row.started_at_ms, row.run_id) < before
        )
        return sorted(rows, key=lambda row: (row.started_at_ms, row.run_id), reverse=True)[:limit]

    def summary(self, run_id: RunId) -> RunSummary | None:
        return self._summaries.get(run_id)

    def unfinished(self) -> list[RunSummary]:
        return sorted((row for row in self._summaries.values() if not row.finished), key=lambda row: row.started_at_ms)

    def save_snapshot(self, snapshot: Snapshot, epoch: int | None = None) -> None:
        if epoch is not None:
            self.check_owner(epoch)
        check_snapshot(snapshot, len(self._events.get(snapshot.run_id, ())))
        kept = self._snapshots.get(snapshot.run_id)
        if kept is None or kept.seq < snapshot.seq:
            self._snapshots[snapshot.run_id] = snapshot

    def snapshot(self, run_id: RunId) -> Snapshot | None:
        return self._snapshots.get(run_id)

    def keep_rules(self, config_hash: str, rules: bytes) -> None:
        self._rules.setdefault(config_hash, rules)

    def rules(self, config_hash: str) -> bytes | None:
        return self._rules.get(config_hash)

    def finished_before(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        rows = (row for row in self._summaries.values() if row.finished and row.last_at_ms < before_ms)
        return [row.run_id for row in sorted(rows, key=lambda row: (row.last_at_ms, row.run_id))][:limit]

    def drop_finished(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        dropped = self.finished_before(before_ms, limit)
        for run_id in dropped:
            del self._events[run_id], self._summaries[run_id]
            self._snapshots.pop(run_id, None)
        return dropped

    def close(self) -> None:
        for kept in self._tables():
            kept.clear()
        self._rules.clear()

    def _tables(self) -> Iterator[dict[RunId, list[Event]] | dict[RunId, RunSummary] | dict[RunId, Snapshot]]:
        yield from (self._events, self._summaries, self._snapshots)


def summarised(before: RunSummary | None, entry: Entry) -> RunSummary:
    """Return the summary of a run after one more event."""
    event = entry.event
    started = started_by(event)
    first = before or RunSummary(
        event.run_id,
        entry.pipeline,
        event.at_ms,
        0,
        user_id=started.user_id,
        session_id=started.session_id,
        config_hash=started.config_hash,
    )
    return RunSummary(
        first.run_id,
        first.pipeline,
        first.started_at_ms,
        event.seq,
        first.finished or entry.ends,
        event.at_ms,
        first.user_id,
        first.session_id,
        first.config_hash,
        entry.lifecycle if entry.lifecycle is not None else first.lifecycle,
        entry.terminal_reason if entry.terminal_reason is not None else first.terminal_reason,
    )


class SqliteRunLog(SqlRunLog):
    """Keeps a run log in one SQLite file; `readonly` opens it for reading only."""

    def __init__(self, path: Path, durability: Durability = "full", readonly: bool = False) -> None:
        self.path = path
        super().__init__(SqliteDatabase(path, durability, readonly, label="run log"))
