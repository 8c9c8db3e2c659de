"""The run log: every event of every run, on disk before anything follows from it.

`SqliteRunLog` keeps it in one WAL file per owner; `MemoryRunLog` is for runs that nobody needs after the process.
Events are addressed by run id and sequence number from 1; a number that is not the next is refused, so that two owners
can never both write the same step.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Protocol

import msgspec

from runtime.errors import StateStorageError
from runtime.ids import RunId
from runtime.supervision.events import Event, decode_event, encode_event

SCHEMA_VERSION = 1


class RunSummary(msgspec.Struct, frozen=True):
    """One line about a run in the log: `finished` when its last event was recorded as its end."""

    run_id: RunId
    pipeline: str
    started_at_ms: int
    events: int


class RunLog(Protocol):
    """Append-only log of events by run."""

    def append(self, pipeline: str, event: Event) -> None:
        """Return once the event is kept. Raises StateStorageError when it could not be."""

    def events(self, run_id: RunId) -> list[Event]:
        """All events of a run in order; empty when there is no such run."""

    def runs(self, limit: int) -> list[RunSummary]:
        """The newest runs, at most `limit`."""

    def close(self) -> None:
        """Release what the log holds."""


class MemoryRunLog:
    """A run log that lives as long as the process."""

    def __init__(self) -> None:
        self._events: dict[RunId, list[Event]] = {}
        self._pipelines: dict[RunId, str] = {}

    def append(self, pipeline: str, event: Event) -> None:
        events = self._events.setdefault(event.run_id, [])
        if event.seq != len(events) + 1:
            raise _out_of_order(event)
        self._pipelines.setdefault(event.run_id, pipeline)
        events.append(event)

    def events(self, run_id: RunId) -> list[Event]:
        return list(self._events.get(run_id, ()))

    def runs(self, limit: int) -> list[RunSummary]:
        rows = [
            RunSummary(run_id, self._pipelines[run_id], events[0].at_ms, len(events))
            for run_id, events in self._events.items()
        ]
        return sorted(rows, key=lambda row: row.started_at_ms, reverse=True)[:limit]

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
        self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def append(self, pipeline: str, event: Event) -> None:
        row = (event.run_id, event.seq, event.at_ms, pipeline, encode_event(event))
        is_next = "? = (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE run_id = ?)"
        try:
            with self._lock:
                insert = f"INSERT INTO events SELECT ?, ?, ?, ?, ? WHERE {is_next}"
                if self._db.execute(insert, (*row, event.seq, event.run_id)).rowcount != 1:
                    raise _out_of_order(event)
        except sqlite3.Error as error:
            raise StateStorageError(
                f"run log {self.path} could not take event {event.seq} of run {event.run_id}: {error};"
                " make room in the state folder or set JEEVES_STATE_DIR",
                path=str(self.path),
                run_id=event.run_id,
            ) from error

    def events(self, run_id: RunId) -> list[Event]:
        with self._lock:
            rows = self._db.execute("SELECT body FROM events WHERE run_id = ? ORDER BY seq", (run_id,)).fetchall()
        return [decode_event(row[0]) for row in rows]

    def runs(self, limit: int) -> list[RunSummary]:
        query = "SELECT run_id, MIN(pipeline), MIN(at_ms), COUNT(*) FROM events GROUP BY run_id ORDER BY 3 DESC LIMIT ?"
        with self._lock:
            rows = self._db.execute(query, (limit,)).fetchall()
        return [RunSummary(RunId(row[0]), row[1], row[2], row[3]) for row in rows]

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _out_of_order(event: Event) -> StateStorageError:
    return StateStorageError(
        f"event {event.seq} of run {event.run_id} is not the next one: another owner writes this run",
        run_id=event.run_id,
    )
