"""Caches embeddings by hash of their text, in one SQLite file for all repositories of a state folder.

A chunk that is identical in another commit or checkout is embedded once. Nothing depends on the file: one that cannot
be read or written only costs time.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors

MAX_VECTORS = 300_000
BUSY_TIMEOUT_S = 2.0
_KEYS_PER_QUERY = 500

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
        found: dict[bytes, Vectors] = {}
        try:
            with self._guard:
                for at in range(0, len(keys), _KEYS_PER_QUERY):
                    part = keys[at : at + _KEYS_PER_QUERY]
                    marks = ", ".join("?" * len(part))
                    rows = self._open().execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                    found |= {key: np.frombuffer(data, np.float16).astype(np.float32) for key, data in rows}
        except (sqlite3.Error, OSError) as error:
            self._complain(error)
        return {key: vector for key, vector in found.items() if vector.shape == (DIMENSIONS,)}

    def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Add vectors; existing ones stay as they are."""
        rows = [(key, vector.astype(np.float16).tobytes()) for key, vector in vectors.items()]
        try:
            with self._guard, self._open() as connection:
                connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
                (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()
                connection.execute("DELETE FROM vectors WHERE id <= ?", (newest - self._max_vectors,))
        except (sqlite3.Error, OSError) as error:
            self._complain(error)

    def note(self, owner: str, made: int, total: int) -> None:
        """Record the progress of `owner` for other processes; delete the record once all vectors are made."""
        try:
            with self._guard, self._open() as connection:
                if made >= total:
                    connection.execute("DELETE FROM progress WHERE owner = ?", (owner,))
                else:
                    row = (owner, made, total, time.time())
                    connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)", row)
        except (sqlite3.Error, OSError) as error:
            self._complain(error)

    def close(self) -> None:
        """Close the file; it is reopened on the next access."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
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
