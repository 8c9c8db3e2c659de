"""The run log: every event of every run, on disk before anything follows from it.

`SqliteRunLog` keeps it in one WAL file per owner; `MemoryRunLog` is for runs that nobody needs after the process.
Events are addressed by run id and sequence number from 1; a number that is not the next is refused, so that two owners
can never both write the same step. Who takes a log over gets a higher epoch, and what was written under a lower one is
refused from then on: an owner that was stopped and wakes up learns so at its first write. Writers that give no epoch
(one-off runs, each with runs of its own) are not fenced.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from runtime.errors import FencedError, StateStorageError
from runtime.ids import RunId
from runtime.supervision.events import Event, decode_event, encode_event

SCHEMA_VERSION = 2
NEWEST_OWNER = "SELECT epoch, name FROM owner"


class RunSummary(msgspec.Struct, frozen=True):
    """One line about a run in the log: `finished` when its last event was recorded as its end."""

    run_id: RunId
    pipeline: str
    started_at_ms: int
    events: int
    finished: bool = False


class RunLog(Protocol):
    """Append-only log of events by run."""

    def take_over(self, owner: str) -> int:
        """Make `owner` the one who writes here; its epoch is higher than every one before."""

    def check_owner(self, epoch: int) -> None:
        """Raise FencedError when a newer owner took the log over since `epoch`."""

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        """Return once the event is kept; `ends`: it is the last of its run.

        Raises FencedError when a newer owner took the log over, and StateStorageError when the event could not be
        written, or perhaps was: what failed is not known before the log is read again.
        """

    def events(self, run_id: RunId) -> list[Event]:
        """All events of a run in order; empty when there is no such run."""

    def runs(self, limit: int) -> list[RunSummary]:
        """The newest runs, at most `limit`."""

    def unfinished(self) -> list[RunSummary]:
        """Runs whose end is not recorded, oldest first."""

    def close(self) -> None:
        """Release what the log holds."""


class MemoryRunLog:
    """A run log that lives as long as the process."""

    def __init__(self) -> None:
        self._events: dict[RunId, list[Event]] = {}
        self._pipelines: dict[RunId, str] = {}
        self._ended: set[RunId] = set()
        self._epoch, self._owner = 0, ""

    def take_over(self, owner: str) -> int:
        self._epoch, self._owner = self._epoch + 1, owner
        return self._epoch

    def check_owner(self, epoch: int) -> None:
        if epoch < self._epoch:
            raise _fenced(epoch, self._epoch, self._owner)

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        if epoch is not None:
            self.check_owner(epoch)
        events = self._events.setdefault(event.run_id, [])
        if event.seq != len(events) + 1:
            if not events:
                del self._events[event.run_id]
            raise _out_of_order(event)
        self._pipelines.setdefault(event.run_id, pipeline)
        events.append(event)
        if ends:
            self._ended.add(event.run_id)

    def events(self, run_id: RunId) -> list[Event]:
        return list(self._events.get(run_id, ()))

    def runs(self, limit: int) -> list[RunSummary]:
        return sorted(self._rows(), key=lambda row: row.started_at_ms, reverse=True)[:limit]

    def unfinished(self) -> list[RunSummary]:
        return sorted((row for row in self._rows() if not row.finished), key=lambda row: row.started_at_ms)

    def _rows(self) -> Iterator[RunSummary]:
        for run_id, events in self._events.items():
            yield RunSummary(
                run_id, self._pipelines[run_id], events[0].at_ms, len(events), finished=run_id in self._ended
            )

    def close(self) -> None:
        self._events.clear()


class SqliteRunLog:
    """A run log in one SQLite file; safe to call from several threads of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=10, isolation_level=None)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise StateStorageError(
                f"run log {path} cannot be opened: {error}; check the state folder or set JEEVES_STATE_DIR",
                path=str(path),
            ) from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            self._db.close()
            raise StateStorageError(
                f"run log {self.path} has schema {version}, this version reads up to {SCHEMA_VERSION}; upgrade jeeves",
                path=str(self.path),
            )
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS events (run_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
            " pipeline TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run_id, seq)) WITHOUT ROWID"
        )
        self._db.execute("CREATE TABLE IF NOT EXISTS ended (run_id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY, epoch INTEGER, name TEXT)")
        self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One writer at a time, in this process and beside others; all of it is kept, or nothing."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def take_over(self, owner: str) -> int:
        newer = (
            "INSERT INTO owner VALUES (1, 1, ?)"
            " ON CONFLICT (one) DO UPDATE SET epoch = epoch + 1, name = excluded.name RETURNING epoch"
        )
        try:
            with self._transaction() as db:
                return int(db.execute(newer, (owner,)).fetchone()[0])
        except sqlite3.Error as error:
            raise StateStorageError(
                f"run log {self.path} cannot be taken over by '{owner}': {error}; check the state folder",
                path=str(self.path),
            ) from error

    def check_owner(self, epoch: int) -> None:
        for newest, owner in self._read(NEWEST_OWNER):
            if epoch < newest:
                raise _fenced(epoch, newest, owner)

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        row = (event.run_id, event.seq, event.at_ms, pipeline, encode_event(event))
        is_next = "? = (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE run_id = ?)"
        insert = f"INSERT INTO events SELECT ?, ?, ?, ?, ? WHERE {is_next}"
        try:
            with self._transaction() as db:
                newest = None if epoch is None else db.execute(NEWEST_OWNER).fetchone()
                if epoch is not None and newest is not None and epoch < newest[0]:
                    raise _fenced(epoch, *newest)
                if db.execute(insert, (*row, event.seq, event.run_id)).rowcount != 1:
                    raise _out_of_order(event)
                if ends:
                    db.execute("INSERT OR IGNORE INTO ended VALUES (?)", (event.run_id,))
        except sqlite3.Error as error:
            raise StateStorageError(
                f"run log {self.path} could not take event {event.seq} of run {event.run_id}: {error};"
                " make room in the state folder or set JEEVES_STATE_DIR",
                path=str(self.path),
                run_id=event.run_id,
            ) from error

    def events(self, run_id: RunId) -> list[Event]:
        rows = self._read("SELECT body FROM events WHERE run_id = ? ORDER BY seq", run_id)
        return [decode_event(row[0]) for row in rows]

    def runs(self, limit: int) -> list[RunSummary]:
        return self._summaries("GROUP BY run_id ORDER BY 3 DESC LIMIT ?", limit)

    def unfinished(self) -> list[RunSummary]:
        return self._summaries("WHERE run_id NOT IN ended GROUP BY run_id ORDER BY 3")

    def _summaries(self, which: str, *values: int) -> list[RunSummary]:
        columns = "run_id, MIN(pipeline), MIN(at_ms), COUNT(*), run_id IN ended"
        rows = self._read(f"SELECT {columns} FROM events {which}", *values)
        return [RunSummary(RunId(row[0]), row[1], row[2], row[3], bool(row[4])) for row in rows]

    def _read(self, query: str, *values: object) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StateStorageError(
                f"run log {self.path} cannot be read: {error}; check the state folder", path=str(self.path)
            ) from error

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _out_of_order(event: Event) -> StateStorageError:
    return StateStorageError(
        f"event {event.seq} of run {event.run_id} is not the next one: another owner writes this run",
        run_id=event.run_id,
    )


def _fenced(epoch: int, newest: int, owner: str) -> FencedError:
    return FencedError(
        f"'{owner}' took this log over with epoch {newest}; an owner of epoch {epoch} must not go on",
        epoch=epoch,
        newest=newest,
    )
