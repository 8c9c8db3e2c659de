"""Registers which user a session belongs to, and lists, continues and deletes a user's sessions.

A user knows a session by its name. Usually a name stands for one session; a caller that sends the whole conversation
with each question has a session for each prefix of it, all of one name, so that an earlier question can be asked again
differently. Sessions of one name are listed, shown and deleted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database, Transaction
from runtime.primitives.clock import Clock

TURNS_COPIED = 5
MOST_SHOWN = 100

OWNER_TABLE = (
    "CREATE TABLE session_owners (session_id TEXT PRIMARY KEY, user_id TEXT NOT NULL, name TEXT NOT NULL,"
    " opened_at_ms BIGINT NOT NULL, used_at_ms BIGINT NOT NULL)",
    "CREATE INDEX session_owners_by_user ON session_owners (user_id, name)",
)

_OPEN = (
    "INSERT INTO session_owners (session_id, user_id, name, opened_at_ms, used_at_ms) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (session_id) DO UPDATE SET used_at_ms = excluded.used_at_ms"
)
_COPY_TURNS = (
    "INSERT INTO turns (session_id, seq, body) SELECT ?, seq, body FROM turns WHERE session_id = ?"
    " AND seq > (SELECT max(seq) FROM turns AS others WHERE others.session_id = ?) - ?"
)
_COPY_STATE = "INSERT INTO session_states (session_id, body) SELECT ?, body FROM session_states WHERE session_id = ?"
_LISTED = (
    "SELECT name, min(opened_at_ms) AS opened, max(used_at_ms) FROM session_owners WHERE user_id = ? GROUP BY name"
    " HAVING min(opened_at_ms) < ? OR (min(opened_at_ms) = ? AND name < ?)"
    " ORDER BY opened DESC, name DESC LIMIT ?"
)
_NAMED = "SELECT session_id FROM session_owners WHERE user_id = ? AND name = ? ORDER BY used_at_ms DESC, session_id"
IDS_AT_ONCE = 500
_TABLES = ("turns", "session_states", "session_owners")
_NEWEST_MS = 2**62


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records one question of a session and its answer; `files` are those examined, first seen first."""

    question: str
    answer: str
    at_ms: int
    repo: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class OwnedSession(msgspec.Struct, frozen=True):
    """Describes the sessions of one name: when the first began, and when one was last used."""

    name: str
    opened_at_ms: int
    used_at_ms: int


class SessionOwner(msgspec.Struct, frozen=True):
    """Identifies the user of a session, and the name by which that user knows it."""

    user_id: str
    name: str


class ShownSession(msgspec.Struct, frozen=True):
    """Holds the newest turns of a session, oldest first, and whether there are older ones."""

    turns: tuple[Turn, ...]
    has_more: bool
    has_state: bool


class SessionContents(msgspec.Struct, frozen=True):
    """Counts what is kept of the sessions of one name. `repos`: those that the turns are about."""

    session_ids: tuple[str, ...]
    turns: int
    states: int
    repos: tuple[str, ...]


class OwnedSessions:
    """Keeps the owners of sessions beside their turns; safe to call from several threads of one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def open(self, user_id: str, name: str, session_id: str) -> None:
        """Record that a user uses a session."""
        now_ms = self._clock.now_ms()
        with self._database.transaction(f"open session {session_id}") as changes:
            changes.execute(_OPEN, (session_id, user_id, name, now_ms, now_ms))

    def continue_from(
        self, user_id: str, name: str, session_id: str, earlier_id: str | None, told: Sequence[Turn]
    ) -> int:
        """Open a session with the turns and state of an earlier one in place of its own; return the number of turns.

        If that one has no turns, those that the caller `told` take their place.
        """
        now_ms = self._clock.now_ms()
        with self._database.transaction(f"continue session {session_id}") as changes:
            changes.execute(_OPEN, (session_id, user_id, name, now_ms, now_ms))
            for table in _TABLES[:2]:
                changes.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
            if earlier_id is not None:
                changes.execute(_COPY_TURNS, (session_id, earlier_id, earlier_id, TURNS_COPIED))
                changes.execute(_COPY_STATE, (session_id, earlier_id))
            copied = _count(changes, session_id)
            rows = [(session_id, seq, msgspec.msgpack.encode(turn)) for seq, turn in enumerate(told[-TURNS_COPIED:], 1)]
            if not copied:
                changes.execute_all("INSERT INTO turns (session_id, seq, body) VALUES (?, ?, ?)", rows)
            return copied or len(rows)

    def listed(self, user_id: str, limit: int, before: tuple[int, str] | None = None) -> list[OwnedSession]:
        """Return a user's sessions, the newest first by their beginning, at most `limit`.

        With `before`, those that come after that beginning and name in this order (exclusive).
        """
        opened_ms, name = before or (_NEWEST_MS, "")
        with self._database.read() as queries:
            rows = queries.rows(_LISTED, (user_id, opened_ms, opened_ms, name, limit))
        return [OwnedSession(str(each[0]), int(each[1]), int(each[2])) for each in rows]

    def owners(self, session_ids: Sequence[str]) -> dict[str, SessionOwner]:
        """Return the owners of sessions by session id; ids that are not registered are left out."""
        return owners_in(self._database, session_ids)

    def shown(self, user_id: str, name: str, derived_id: str, limit: int) -> ShownSession | None:
        """Return the newest `limit` turns of the session of that name that was used last; None if there is none.

        `derived_id`: the id of a session that is older than the register of owners.
        """
        query = "SELECT body FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
        with self._database.read() as queries:
            known = _ids(queries, user_id, name, derived_id)
            if not known:
                return None
            rows = queries.rows(query, (known[0], limit + 1))
            states = queries.rows("SELECT 1 FROM session_states WHERE session_id = ?", (known[0],))
        turns = tuple(msgspec.msgpack.decode(row[0], type=Turn) for row in reversed(rows[:limit]))
        return ShownSession(turns, len(rows) > limit, bool(states))

    def contents(self, user_id: str, name: str, derived_id: str) -> SessionContents:
        """Return what a user's sessions of that name hold, the last used first; nothing if there are none."""
        with self._database.read() as queries:
            return _contents(queries, _ids(queries, user_id, name, derived_id))

    def delete(self, user_id: str, name: str, derived_id: str) -> SessionContents:
        """Delete turns and state of a user's sessions of that name, and return what they held."""
        with self._database.transaction(f"delete session {name!r} of {user_id}") as changes:
            contents = _contents(changes, _ids(changes, user_id, name, derived_id))
            for table in _TABLES:
                rows = [(session_id,) for session_id in contents.session_ids]
                changes.execute_all(f"DELETE FROM {table} WHERE session_id = ?", rows)
        return contents


def owners_in(database: Database, session_ids: Sequence[str]) -> dict[str, SessionOwner]:
    """Return the registered owners of sessions by session id; none from a database that is older than the register."""
    found: dict[str, SessionOwner] = {}
    with database.read() as queries:
        if not queries.has_table("session_owners"):
            return found
        for start in range(0, len(session_ids), IDS_AT_ONCE):
            ids = session_ids[start : start + IDS_AT_ONCE]
            places = ", ".join("?" * len(ids))
            query = f"SELECT session_id, user_id, name FROM session_owners WHERE session_id IN ({places})"
            found |= {str(row[0]): SessionOwner(str(row[1]), str(row[2])) for row in queries.rows(query, ids)}
    return found


def drop_unused_owners(changes: Transaction, before_ms: int) -> None:
    """Delete the owners of sessions that have no turns and were last used before `before_ms`."""
    changes.execute(
        "DELETE FROM session_owners WHERE used_at_ms < ?"
        " AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session_id = session_owners.session_id)",
        (before_ms,),
    )


def _ids(queries: Transaction, user_id: str, name: str, derived_id: str) -> list[str]:
    known = [str(row[0]) for row in queries.rows(_NAMED, (user_id, name))]
    if known or not _count(queries, derived_id):
        return known
    # Where users name sessions themselves, another one may have begun it.
    others = queries.rows("SELECT 1 FROM session_owners WHERE session_id = ? AND user_id <> ?", (derived_id, user_id))
    return [] if others else [derived_id]


def _contents(queries: Transaction, session_ids: Sequence[str]) -> SessionContents:
    turns = states = 0
    repos: dict[str, None] = {}
    for session_id in session_ids:
        bodies = queries.rows("SELECT body FROM turns WHERE session_id = ?", (session_id,))
        turns += len(bodies)
        repos |= dict.fromkeys(msgspec.msgpack.decode(row[0], type=Turn).repo for row in bodies)
        states += len(queries.rows("SELECT 1 FROM session_states WHERE session_id = ?", (session_id,)))
    return SessionContents(tuple(session_ids), turns, states, tuple(repo for repo in repos if repo))


def _count(queries: Transaction, session_id: str) -> int:
    return int(queries.rows("SELECT count(*) FROM turns WHERE session_id = ?", (session_id,))[0][0])


OWNED_SESSION_QUERIES = (
    "session.open",
    "session.continue",
    "session.list",
    "session.show",
    "session.contents",
    "session.delete",
    "session.owners",
)


def owned_session_queries(store: OwnedSessions) -> dict[str, QueryHandler]:
    """Return the handlers of the queries that doors send; each body has the arguments of the method by name."""

    async def open_session(body: dict[str, Any]) -> dict[str, Any]:
        store.open(**body)
        return {}

    async def continue_session(body: dict[str, Any]) -> dict[str, Any]:
        told = msgspec.convert(body["told"], list[Turn])
        return {"turns": store.continue_from(**{**body, "told": told})}

    async def listed(body: dict[str, Any]) -> dict[str, Any]:
        before = None if body["before"] is None else tuple(body["before"])
        found = store.listed(**{**body, "before": before})
        return {"sessions": msgspec.to_builtins(found)}

    async def shown(body: dict[str, Any]) -> dict[str, Any]:
        return {"session": msgspec.to_builtins(store.shown(**body))}

    async def contents(body: dict[str, Any]) -> dict[str, Any]:
        held: dict[str, Any] = msgspec.to_builtins(store.contents(**body))
        return held

    async def delete(body: dict[str, Any]) -> dict[str, Any]:
        deleted: dict[str, Any] = msgspec.to_builtins(store.delete(**body))
        return deleted

    async def owners(body: dict[str, Any]) -> dict[str, Any]:
        return {"owners": msgspec.to_builtins(store.owners(**body))}

    handlers = (open_session, continue_session, listed, shown, contents, delete, owners)
    return dict(zip(OWNED_SESSION_QUERIES, handlers, strict=True))
