"""Caches embeddings by hash of their text, in one SQLite file for all repositories of a state folder.

A chunk that is identical in another commit or checkout is embedded once. Nothing depends on the file: one that cannot
be read or written is set aside and made anew, which only costs time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.database.set_aside import set_aside

MAX_VECTORS = 300_000
BUSY_TIMEOUT_S = 2.0
_KEYS_PER_QUERY = 500
_BYTES_PER_NUMBER = 2
# SQLite locks that other processes hold, a full disk and failed reads pass by themselves.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})

log = logging.getLogger(__name__)


def key_of(model: str, text: str) -> bytes:
    """Return the key of a text's vector: a hash of the model's name and the text."""
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


class VectorCache:
    """Reads and adds vectors, in half precision on disk; beyond `max_vectors` the oldest are deleted."""

    def __init__(self, path: Path, *, max_vectors: int = MAX_VECTORS) -> None:
        self._path = path
        self._max_vectors = max_vectors
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_broken = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the cached vectors, by key."""
        found: dict[bytes, bytes] = {}

        def read(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[at : at + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                found.update({key: data for key, data in rows if len(data) == DIMENSIONS * _BYTES_PER_NUMBER})

        self._work(read)
        return {key: np.frombuffer(data, np.float16).astype(np.float32) for key, data in found.items()}

    def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Add vectors; existing ones stay as they are."""
        rows = [(key, vector.astype(np.float16).tobytes()) for key, vector in vectors.items()]

        def add(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
            (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()
            connection.execute("DELETE FROM vectors WHERE id <= ?", (newest - self._max_vectors,))

        self._work(add)

    def note(self, owner: str, made: int, total: int) -> None:
        """Record the progress of `owner` for other processes; delete the record once all vectors are made."""

        def record(connection: sqlite3.Connection) -> None:
            if made >= total:
                connection.execute("DELETE FROM progress WHERE owner = ?", (owner,))
            else:
                row = (owner, made, total, time.time())
                connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)", row)

        self._work(record)

    def close(self) -> None:
        """Close the file; it is reopened on the next access."""
        with self._guard:
            self._close()

    def _work(self, act: Callable[[sqlite3.Connection], None]) -> None:
        """Carry `act` out in a transaction; repeat it on a new connection, then on a new file, if the file fails it."""
        with self._guard:
            for again in (self._close, self._set_aside, None):
                try:
                    with self._open() as connection:
                        act(connection)
                        return
                except (sqlite3.Error, OSError) as error:
                    if again is None or not _is_of_the_file(error):
                        self._complain(error)
                        return
                    if again == self._set_aside:
                        self._complain(error)
                try:
                    again()
                except OSError as error:
                    self._complain(error)
                    return

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _set_aside(self) -> None:
        self._close()
        set_aside(self._path, "the vectors cannot be used")

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(self._path) and not self._path.is_file():
                raise OSError(f"{self._path} is no regular file")
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors "
                    "(id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
                )
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS progress "
                    "(owner TEXT PRIMARY KEY, made INTEGER NOT NULL, total INTEGER NOT NULL, noted_s REAL NOT NULL)"
                )
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _complain(self, error: Exception) -> None:
        if not self._is_broken:
            log.warning("vectors.unusable", extra={"path": str(self._path), "error": str(error)})
        self._is_broken = True


def _is_of_the_file(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _PASSING
