"""Stores sessions in a database: the earlier questions of a user, and the state of the traversal.

session_id → turns in order (question, short answer, files examined). Reads return the newest turns; older ones stay
on disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database, Schema, Transaction
from runtime.database.sqlite_database import SqliteDatabase
from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.errors import InputError
from runtime.memory.owned_sessions import (
    OWNED_SESSION_QUERIES,
    OWNER_TABLE,
    OwnedSessions,
    Turn,
    drop_unused_owners,
    owned_session_queries,
)
from runtime.primitives.clock import Clock, SystemClock

__all__ = ["SESSIONS", "SessionStore", "Turn", "check_session_id", "session_queries"]

TURNS_GIVEN_BACK = 5
MAX_SESSION_ID_CHARS = 128


class SessionStore:
    """Stores turns by session; safe to call from several threads of one process."""

    def __init__(self, place: Path | Database, clock: Clock | None = None) -> None:
        """Open the SQLite file at a path, or use an open database. Raises StateStorageError."""
        self._database = SqliteDatabase(place, label="sessions") if isinstance(place, Path) else place
        SCHEMA.apply(self._database)
        self.owned = OwnedSessions(self._database, clock or SystemClock())

    def append(self, session_id: str, turn: Turn) -> None:
        """Append a turn to a session; a new session begins with it.

        Appending the newest turn again changes nothing: a caller repeats its request after a process died.
        """
        check_session_id(session_id)
        newest = "SELECT seq, body FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT 1"
        body = msgspec.msgpack.encode(turn)
        with self._database.transaction(f"take a turn of session {session_id}") as changes:
            last = changes.rows(newest, (session_id,))
            if last and bytes(last[0][1]) == body:
                return
            seq = last[0][0] + 1 if last else 1
            changes.execute("INSERT INTO turns VALUES (?, ?, ?)", (session_id, seq, body))

    def turns(self, session_id: str, limit: int = TURNS_GIVEN_BACK) -> list[Turn]:
        """Return the newest `limit` turns of a session, oldest first; empty if it is new."""
        check_session_id(session_id)
        query = "SELECT body FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
        with self._database.read() as queries:
            rows = queries.rows(query, (session_id, limit))
        return [msgspec.msgpack.decode(row[0], type=Turn) for row in reversed(rows)]

    def unused(self, before_ms: int) -> list[str]:
        """Return the sessions whose newest turn is older than `before_ms`."""
        with self._database.read() as queries:
            return _unused(queries, before_ms)

    def drop_unused(self, before_ms: int) -> list[str]:
        """Delete the sessions that `unused` returns, and return them."""
        with self._database.transaction("drop old sessions") as changes:
            dropped = _unused(changes, before_ms)
            rows = [(session_id,) for session_id in dropped]
            for table in ("turns", "session_states", "session_owners"):
                changes.execute_all(f"DELETE FROM {table} WHERE session_id = ?", rows)
            drop_unused_owners(changes, before_ms)
        return dropped

    def state(self, session_id: str) -> dict[str, Any] | None:
        """Return the last stored traversal state of a session; None if there is none."""
        check_session_id(session_id)
        with self._database.read() as queries:
            rows = queries.rows("SELECT body FROM session_states WHERE session_id = ?", (session_id,))
        return msgspec.msgpack.decode(rows[0][0], type=dict[str, Any]) if rows else None

    def keep_state(self, session_id: str, state: dict[str, Any]) -> None:
        """Store the traversal state of a session in place of the last one."""
        check_session_id(session_id)
        with self._database.transaction(f"take the state of session {session_id}") as changes:
            changes.execute(
                "INSERT INTO session_states (session_id, body) VALUES (?, ?)"
                " ON CONFLICT (session_id) DO UPDATE SET body = excluded.body",
                (session_id, msgspec.msgpack.encode(state)),
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()


SCHEMA = Schema(
    "sessions",
    (
        (
            # Session files are older than the ledger of schema versions.
            "CREATE TABLE IF NOT EXISTS turns (session_id TEXT NOT NULL, seq BIGINT NOT NULL, body BYTEA NOT NULL,"
            " PRIMARY KEY (session_id, seq)) WITHOUT ROWID",
        ),
        ("CREATE TABLE session_states (session_id TEXT PRIMARY KEY, body BYTEA NOT NULL)",),
        OWNER_TABLE,
    ),
)


def _unused(queries: Transaction, before_ms: int) -> list[str]:
    newest = (
        "SELECT session_id, body FROM turns WHERE seq = (SELECT max(seq) FROM turns AS others"
        " WHERE others.session_id = turns.session_id) ORDER BY session_id"
    )
    return [
        session_id
        for session_id, body in queries.rows(newest)
        if msgspec.msgpack.decode(body, type=Turn).at_ms < before_ms
    ]


def check_session_id(session_id: str) -> None:
    """Raise InputError if that cannot be the id of a session."""
    if not session_id or len(session_id) > MAX_SESSION_ID_CHARS or not session_id.isprintable():
        raise InputError(
            f"a session id is 1 to {MAX_SESSION_ID_CHARS} printable characters, not {session_id[:40]!r}",
            session_id=session_id,
        )


SESSION_QUERIES = ("session.turns", "session.append", "session.keep_state")


def session_queries(store: SessionStore) -> dict[str, QueryHandler]:
    """Return the store's handlers for queries of agents and doors.

    `session.turns` {session_id} → {turns, state}, `session.append` {session_id, turn}, `session.keep_state`
    {session_id, state}; those of doors are in `runtime.memory.owned_sessions`.
    """

    async def turns(body: dict[str, Any]) -> dict[str, Any]:
        session_id = body["session_id"]
        return {"turns": msgspec.to_builtins(store.turns(session_id)), "state": store.state(session_id)}

    async def append(body: dict[str, Any]) -> dict[str, Any]:
        store.append(body["session_id"], msgspec.convert(body["turn"], Turn))
        return {}

    async def keep_state(body: dict[str, Any]) -> dict[str, Any]:
        store.keep_state(body["session_id"], body["state"])
        return {}

    of_agents = dict(zip(SESSION_QUERIES, (turns, append, keep_state), strict=True))
    return {**of_agents, **owned_session_queries(store.owned)}


def _sweep(store: SessionStore, task: SweepTask) -> Dropped:
    act = store.unused if task.is_dry else store.drop_unused
    count = len(act(task.before_ms))
    return Dropped({_COUNTED.key: count}, count > 0)


_COUNTED = Counted("sessions", "session", "sessions")

SESSIONS = StorePart(
    name="sessions",
    label="sessions",
    schema=SCHEMA,
    open=SessionStore,
    queries=(*SESSION_QUERIES, *OWNED_SESSION_QUERIES),
    handlers=session_queries,
    counted=(_COUNTED,),
    sweep=_sweep,
)
