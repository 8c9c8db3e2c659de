"""Stores sessions of changes: their checkpoints, every decision, and what became of them.

session_id → state (rewritten with each decision), decisions in order, one outcome. A session is written by its owner
alone: who takes it over sets a new owner, and the old one's next write is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.contracts.session_state import SessionState
from runtime.database.database import Database, Schema
from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.errors import FencedError
from runtime.primitives.clock import Clock

# Owns the sessions that were ended from outside.
NOBODY = "nobody"
CHANGES = Counted("code_changes", "session of changes", "sessions of changes")


class SessionRow(msgspec.Struct, frozen=True):
    """Describes a stored session: its state, who owns it, and when it was last called."""

    state: SessionState
    owner: str
    touched_ms: int


class DecisionRow(msgspec.Struct, frozen=True):
    """Records one decision with what it was made from: an entry of the decision log."""

    session_id: str
    seq: int
    at_ms: int
    kind: str
    data: dict[str, Any]


class OutcomeRow(msgspec.Struct, frozen=True):
    """Records what became of a change, as a person said: `verdict` is success, failure or partial."""

    session_id: str
    scope: str
    verdict: str
    reason: str
    at_ms: int
    query: str
    phase: str
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class SessionStore:
    """Reads and writes sessions; safe to call from several threads, and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def create(
        self, state: SessionState, owner: str, contract: str = "", start_files: Mapping[str, str] | None = None
    ) -> None:
        """Store a new session, with the contract that it pins, as JSON, and file → digest of what it is to know."""
        now_ms = self._clock.now_ms()
        row = (state.session_id, state.repository, int(state.is_over), owner, now_ms, msgspec.msgpack.encode(state))
        with self._database.transaction(f"begin session {state.session_id}") as changes:
            changes.execute(
                "INSERT INTO changes (session_id, scope, is_over, owner, touched_ms, body) VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            if contract:
                changes.execute(
                    "INSERT INTO contracts (digest, body) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING",
                    (state.contract_digest, contract.encode()),
                )
            if start_files:
                changes.execute(
                    "INSERT INTO start_files (session_id, body) VALUES (?, ?)",
                    (state.session_id, msgspec.msgpack.encode(dict(start_files))),
                )

    def start_files(self, session_id: str) -> dict[str, str]:
        """Return file → digest of what a session was given to know when it began."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT body FROM start_files WHERE session_id = ?", (session_id,))
        return msgspec.msgpack.decode(bytes(rows[0][0]), type=dict[str, str]) if rows else {}

    def contract(self, digest: str) -> bytes | None:
        """Return the contract of that digest as JSON; None if no session has pinned it."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT body FROM contracts WHERE digest = ?", (digest,))
        return bytes(rows[0][0]) if rows else None

    def keep(self, state: SessionState, owner: str, kind: str = "", data: dict[str, Any] | None = None) -> None:
        """Store a session's state in place of the last one, with the decision that led to it, at once.

        Raises FencedError when somebody else owns the session now.
        """
        now_ms = self._clock.now_ms()
        body = msgspec.msgpack.encode(state)
        with self._database.transaction(f"keep session {state.session_id}") as changes:
            kept = changes.execute(
                "UPDATE changes SET is_over = ?, touched_ms = ?, body = ? WHERE session_id = ? AND owner = ?",
                (int(state.is_over), now_ms, body, state.session_id, owner),
            )
            if not kept:
                rows = changes.rows(_ROW, (state.session_id,))
                raise _fenced(state.session_id, _row(rows[0]) if rows else None)
            if kind:
                last = changes.rows("SELECT max(seq) FROM decisions WHERE session_id = ?", (state.session_id,))[0][0]
                changes.execute(
                    "INSERT INTO decisions (session_id, seq, at_ms, kind, body) VALUES (?, ?, ?, ?, ?)",
                    (state.session_id, (last or 0) + 1, now_ms, kind, msgspec.msgpack.encode(data or {})),
                )

    def check_owner(self, session_id: str, owner: str) -> None:
        """Raise FencedError if somebody else owns a session now."""
        row = self.get(session_id)
        if row is None or row.owner != owner:
            raise _fenced(session_id, row)

    def take_over(self, session_id: str, owner: str) -> SessionRow | None:
        """Make a new owner of a session; None if there is no such session."""
        with self._database.transaction(f"take over session {session_id}") as changes:
            changes.execute(
                "UPDATE changes SET owner = ?, touched_ms = ? WHERE session_id = ?",
                (owner, self._clock.now_ms(), session_id),
            )
        return self.get(session_id)

    def end(self, session_id: str, kind: str, outcome: str, data: dict[str, Any]) -> None:
        """End a session, whoever owns it; its owner can write it no more. Does nothing where it is over or unknown."""
        row = self.take_over(session_id, NOBODY)
        if row is not None and not row.state.is_over:
            self.keep(row.state.ended(outcome), NOBODY, kind, data)

    def amend(self, state: SessionState, kind: str, data: dict[str, Any]) -> None:
        """Store what a person decided of a session, whoever owns it; its owner reads it before it goes on."""
        row = self.get(state.session_id)
        if row is not None:
            self.keep(state, row.owner, kind, data)

    def get(self, session_id: str) -> SessionRow | None:
        """Return a session; None if there is none of that id."""
        with self._database.read() as queries:
            rows = queries.rows(_ROW, (session_id,))
        return _row(rows[0]) if rows else None

    def open_sessions(self, scope: str) -> list[SessionRow]:
        """Return the sessions of a repository that are not over, the one called last first."""
        query = "SELECT body, owner, touched_ms FROM changes WHERE scope = ? AND is_over = 0 ORDER BY touched_ms DESC"
        with self._database.read() as queries:
            return [_row(row) for row in queries.rows(query, (scope,))]

    def last_session(self, scope: str) -> SessionRow | None:
        """Return the session of a repository that is over and was called last; None without one."""
        query = f"{_OVER} ORDER BY touched_ms DESC LIMIT 1"
        with self._database.read() as queries:
            rows = queries.rows(query, (scope,))
        return _row(rows[0]) if rows else None

    def open_ids(self) -> set[str]:
        """Return the ids of all sessions that are not over; work trees of one repository are scopes of their own."""
        with self._database.read() as queries:
            return {str(row[0]) for row in queries.rows("SELECT session_id FROM changes WHERE is_over = 0", ())}

    def all_sessions(self, limit: int = 100) -> list[SessionRow]:
        """Return sessions, the one called last first."""
        query = "SELECT body, owner, touched_ms FROM changes ORDER BY touched_ms DESC LIMIT ?"
        with self._database.read() as queries:
            return [_row(row) for row in queries.rows(query, (limit,))]

    def decisions(self, session_id: str) -> list[DecisionRow]:
        """Return the decisions of a session in order."""
        query = "SELECT seq, at_ms, kind, body FROM decisions WHERE session_id = ? ORDER BY seq"
        with self._database.read() as queries:
            rows = queries.rows(query, (session_id,))
        return [
            DecisionRow(session_id, int(seq), int(at_ms), str(kind), msgspec.msgpack.decode(bytes(body)))
            for seq, at_ms, kind, body in rows
        ]

    def record_outcome(self, outcome: OutcomeRow) -> None:
        """Store what became of a session in place of what was said before."""
        with self._database.transaction(f"record the outcome of session {outcome.session_id}") as changes:
            changes.execute(
                "INSERT INTO outcomes (session_id, scope, at_ms, body) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session_id) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
                (outcome.session_id, outcome.scope, outcome.at_ms, msgspec.msgpack.encode(outcome)),
            )

    def outcome_of(self, session_id: str) -> OutcomeRow | None:
        """Return what became of a session; None where nobody has said."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT body FROM outcomes WHERE session_id = ?", (session_id,))
        return msgspec.msgpack.decode(bytes(rows[0][0]), type=OutcomeRow) if rows else None

    def outcomes(self, scope: str, limit: int = 1_000) -> list[OutcomeRow]:
        """Return the outcomes of a repository's sessions, newest first."""
        query = "SELECT body FROM outcomes WHERE scope = ? ORDER BY at_ms DESC LIMIT ?"
        with self._database.read() as queries:
            rows = queries.rows(query, (scope, limit))
        return [msgspec.msgpack.decode(bytes(row[0]), type=OutcomeRow) for row in rows]

    def unused(self, before_ms: int) -> int:
        """Count the sessions that are over and were last called before `before_ms`."""
        with self._database.read() as queries:
            return int(queries.rows(f"SELECT count(*) FROM changes WHERE {_OLD}", (before_ms,))[0][0])

    def drop_unused(self, before_ms: int) -> int:
        """Delete the sessions that `unused` counts, with their decisions; outcomes stay. Return their number."""
        with self._database.transaction("drop old sessions of changes") as changes:
            for table in ("decisions", "start_files"):
                changes.execute(
                    f"DELETE FROM {table} WHERE session_id IN (SELECT session_id FROM changes WHERE {_OLD})",
                    (before_ms,),
                )
            return changes.execute(f"DELETE FROM changes WHERE {_OLD}", (before_ms,))


_OVER = "SELECT body, owner, touched_ms FROM changes WHERE scope = ? AND is_over = 1"
_ROW = "SELECT body, owner, touched_ms FROM changes WHERE session_id = ?"
_OLD = "is_over = 1 AND touched_ms < ?"

SCHEMA = Schema(
    "code_changes",
    (
        (
            "CREATE TABLE changes (session_id TEXT PRIMARY KEY, scope TEXT NOT NULL, is_over BIGINT NOT NULL,"
            " owner TEXT NOT NULL, touched_ms BIGINT NOT NULL, body BYTEA NOT NULL)",
            "CREATE INDEX changes_of_scope ON changes (scope, is_over)",
            "CREATE TABLE decisions (session_id TEXT NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,"
            " kind TEXT NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (session_id, seq))",
            "CREATE TABLE outcomes (session_id TEXT PRIMARY KEY, scope TEXT NOT NULL, at_ms BIGINT NOT NULL,"
            " body BYTEA NOT NULL)",
        ),
        ("CREATE TABLE contracts (digest TEXT PRIMARY KEY, body BYTEA NOT NULL)",),
        ("CREATE TABLE start_files (session_id TEXT PRIMARY KEY, body BYTEA NOT NULL)",),
    ),
)


def _fenced(session_id: str, row: SessionRow | None) -> FencedError:
    if row is not None and row.state.is_over:
        return FencedError(f"session {session_id} is over: {row.state.outcome}; start_session begins another one")
    return FencedError(f"session {session_id} was taken over by another client; resume it to go on")


def _row(row: Any) -> SessionRow:
    return SessionRow(msgspec.msgpack.decode(bytes(row[0]), type=SessionState), str(row[1]), int(row[2]))


def _sweep(store: SessionStore, task: SweepTask) -> Dropped:
    count = store.unused(task.before_ms) if task.is_dry else store.drop_unused(task.before_ms)
    return Dropped({CHANGES.key: count}, leaves_room=count > 0 and not task.is_dry)


CODE_CHANGES = StorePart(
    name="code_changes",
    label="sessions of code changes",
    schema=SCHEMA,
    open=SessionStore,
    counted=(CHANGES,),
    sweep=_sweep,
)
