"""Sessions: what a user asked before, and where the traversal stood, kept in one SQLite file.

session_id → turns in order (question, short answer, files examined). The newest `turns` are given back; older ones
stay on disk.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec

from runtime.errors import InputError, StateStorageError
from runtime.ports import QueryHandler

TURNS_GIVEN_BACK = 5
MAX_SESSION_ID_CHARS = 128


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question of a session and what came of it; `files` are those that were examined, first seen first."""

    question: str
    answer: str
    at_ms: int
    repo: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class SessionStore:
    """Turns by session; safe to call from several threads of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=10, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS turns (session_id TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,"
                " PRIMARY KEY (session_id, seq)) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise self._failed("opened", error) from error

    def append(self, session_id: str, turn: Turn) -> None:
        """Add a turn at the end of a session, which begins with it when it is new."""
        check_session_id(session_id)
        insert = "INSERT INTO turns SELECT ?, COALESCE(MAX(seq), 0) + 1, ? FROM turns WHERE session_id = ?"
        try:
            with self._lock:
                self._db.execute(insert, (session_id, msgspec.msgpack.encode(turn), session_id))
        except sqlite3.Error as error:
            raise self._failed("written", error) from error

    def turns(self, session_id: str, limit: int = TURNS_GIVEN_BACK) -> list[Turn]:
        """The newest turns of a session, oldest first; empty when it is new."""
        check_session_id(session_id)
        query = "SELECT body FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
        try:
            with self._lock:
                rows = self._db.execute(query, (session_id, limit)).fetchall()
        except sqlite3.Error as error:
            raise self._failed("read", error) from error
        return [msgspec.msgpack.decode(row[0], type=Turn) for row in reversed(rows)]

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._db.close()

    def _failed(self, what: str, error: Exception) -> StateStorageError:
        return StateStorageError(f"sessions {self.path} cannot be {what}: {error}", path=str(self.path))


def check_session_id(session_id: str) -> None:
    """Raise InputError when that cannot be the id of a session."""
    if not session_id or len(session_id) > MAX_SESSION_ID_CHARS or not session_id.isprintable():
        raise InputError(
            f"a session id is 1 to {MAX_SESSION_ID_CHARS} printable characters, not {session_id[:40]!r}",
            session_id=session_id,
        )


def session_queries(store: SessionStore) -> dict[str, QueryHandler]:
    """The store's door for agents: `session.turns` {session_id} → {turns}, `session.append` {session_id, turn}."""

    async def turns(body: dict[str, Any]) -> dict[str, Any]:
        return {"turns": msgspec.to_builtins(store.turns(body["session_id"]))}

    async def append(body: dict[str, Any]) -> dict[str, Any]:
        store.append(body["session_id"], msgspec.convert(body["turn"], Turn))
        return {}

    return {"session.turns": turns, "session.append": append}
