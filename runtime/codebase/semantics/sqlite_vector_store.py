"""Keeps vectors in an SQLite file and compares them with numpy; needs nothing else.

A query reads the whole collection once and again after each change, by whomever; 100,000 vectors take 150 MB.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.vector_store import (
    Match,
    VectorEntry,
    checked_attributes,
    checked_entries,
    checked_limit,
    checked_vector,
    first_number,
    is_storable,
)
from runtime.database.set_aside import set_aside
from runtime.errors import StateStorageError

BUSY_TIMEOUT_S = 5.0
_KEYS_PER_QUERY = 500
# Raised with every change of the tables: older files are emptied.
FORMAT = 1
_TABLES = (
    "CREATE TABLE entries (collection TEXT NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, vector BLOB NOT NULL,"
    " attributes TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (collection, id))",
    "CREATE TABLE collections (name TEXT PRIMARY KEY, model TEXT NOT NULL, dimensions INTEGER NOT NULL)",
    "CREATE TABLE writes (number INTEGER NOT NULL)",
)
# SQLite locks that other processes hold, a full disk and failed reads pass by themselves.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})

T = TypeVar("T")


class _Loaded(NamedTuple):
    """Holds a collection in memory: its ids and attributes, and its vectors scaled to length 1, row by row."""

    version: tuple[int, int]
    ids: Sequence[str]
    attributes: Sequence[Mapping[str, str]]
    vectors: NDArray[np.float32]
    numbers: NDArray[np.int64]


class SqliteVectorStore:
    """Keeps one collection of a file; other collections of the file are not touched."""

    def __init__(self, path: Path, collection: str, dimensions: int, model: str) -> None:
        self._path = path
        self._model = model
        self._collection = collection
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._writes = 0
        self._loaded: _Loaded | None = None

    def upsert(self, entries: Sequence[VectorEntry]) -> int:
        """Add entries, or put them in place of those with the same id; return how many were written."""
        checked = checked_entries(entries, self._dimensions)
        rows = {
            entry.id: (entry.content_hash, entry.vector.tobytes(), json.dumps(dict(sorted(entry.attributes.items()))))
            for entry in checked
        }

        def write(connection: sqlite3.Connection) -> int:
            connection.execute("BEGIN IMMEDIATE")
            known = self._known(connection, list(rows))
            new = {name: row for name, row in rows.items() if known.get(name) != (row[0], row[2])}
            if new:
                (number,) = connection.execute("UPDATE writes SET number = number + 1 RETURNING number").fetchone()
                connection.executemany(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)",
                    [(self._collection, name, *row, number) for name, row in new.items()],
                )
            return len(new)

        return self._work(write, is_write=True)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries and return how many there were."""
        named = [(self._collection, name) for name in dict.fromkeys(ids) if is_storable(name)]

        def write(connection: sqlite3.Connection) -> int:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE writes SET number = number + 1")
            return connection.executemany("DELETE FROM entries WHERE collection = ? AND id = ?", named).rowcount

        return self._work(write, is_write=True) if named else 0

    def query(
        self, vector: Vectors, limit: int, where: Mapping[str, str] = {}, *, until: int | None = None
    ) -> list[Match]:
        """Return the entries nearest to a vector, best first."""
        asked = checked_vector(vector, self._dimensions)
        wanted = checked_attributes(where)
        checked_limit(limit, limit)
        loaded = self._work(self._load)
        places = [
            place
            for place, attributes in enumerate(loaded.attributes)
            if (until is None or loaded.numbers[place] <= until)
            and all(attributes.get(name) == value for name, value in wanted.items())
        ]
        cosines = loaded.vectors[places] @ (asked / np.linalg.norm(asked))
        best = sorted(zip(cosines.tolist(), places, strict=True), key=lambda pair: (-pair[0], loaded.ids[pair[1]]))
        return [Match(loaded.ids[place], cosine, loaded.attributes[place]) for cosine, place in best[:limit]]

    def cosines(self, vector: Vectors, ids: Sequence[str], *, until: int | None = None) -> dict[str, float]:
        """Return the cosine of a vector and each of the entries with these ids."""
        asked = checked_vector(vector, self._dimensions)
        loaded = self._work(self._load)
        wanted = frozenset(ids)
        places = [
            place
            for place, name in enumerate(loaded.ids)
            if name in wanted and (until is None or loaded.numbers[place] <= until)
        ]
        cosines = loaded.vectors[places] @ (asked / np.linalg.norm(asked))
        return {loaded.ids[place]: cosine for place, cosine in zip(places, cosines.tolist(), strict=True)}

    def ids(self, *, until: int | None = None) -> frozenset[str]:
        """Return the ids of the entries."""
        query = "SELECT id FROM entries WHERE collection = ? AND (? IS NULL OR number <= ?)"
        values = (self._collection, until, until)
        return self._work(lambda db: frozenset(str(name) for (name,) in db.execute(query, values)))

    def newest(self) -> int:
        """Return the number of the last write to the file."""
        return self._work(lambda db: int(db.execute("SELECT number FROM writes").fetchone()[0]))

    def hashes(self, where: Mapping[str, str] = {}) -> dict[str, str]:
        """Return the content hashes of the entries by their ids."""
        condition, values = self._condition(where)
        query = f"SELECT id, hash FROM entries WHERE {condition}"
        return self._work(lambda db: {str(name): str(found) for name, found in db.execute(query, values)})

    def count(self, where: Mapping[str, str] = {}) -> int:
        """Return the number of entries."""
        condition, values = self._condition(where)
        query = f"SELECT count(*) FROM entries WHERE {condition}"
        return self._work(lambda db: int(db.execute(query, values).fetchone()[0]))

    def close(self) -> None:
        """Close the file; it is opened again by the next call."""
        with self._guard:
            self._close()

    def _condition(self, where: Mapping[str, str]) -> tuple[str, list[str]]:
        wanted = checked_attributes(where)
        parts = ["collection = ?", *(f"json_extract(attributes, '$.{name}') = ?" for name in wanted)]
        return " AND ".join(parts), [self._collection, *wanted.values()]

    def _known(self, connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        known: dict[str, tuple[str, str]] = {}
        for at in range(0, len(ids), _KEYS_PER_QUERY):
            part = ids[at : at + _KEYS_PER_QUERY]
            marks = ", ".join("?" * len(part))
            query = f"SELECT id, hash, attributes FROM entries WHERE collection = ? AND id IN ({marks})"
            known |= {name: (found, told) for name, found, told in connection.execute(query, (self._collection, *part))}
        return known

    def _load(self, connection: sqlite3.Connection) -> _Loaded:
        """Return the collection, read again if it may have changed since it was last read."""
        version = (self._writes, int(connection.execute("PRAGMA data_version").fetchone()[0]))
        if self._loaded is None or self._loaded.version != version:
            query = "SELECT id, attributes, vector, number FROM entries WHERE collection = ? ORDER BY id"
            size = self._dimensions * 4
            rows = [row for row in connection.execute(query, (self._collection,)) if len(row[2]) == size]
            vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), self._dimensions)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True) if rows else 1.0
            scaled = np.asarray(vectors / lengths, np.float32)
            ids, attributes = [row[0] for row in rows], [json.loads(row[1]) for row in rows]
            numbers = np.fromiter((row[3] for row in rows), np.int64, len(rows))
            self._loaded = _Loaded(version, ids, attributes, scaled, numbers)
        return self._loaded

    def _work(self, act: Callable[[sqlite3.Connection], T], *, is_write: bool = False) -> T:
        """Carry `act` out in a transaction; a damaged file is set aside and made anew, once."""
        with self._guard:
            try:
                return self._done(act, is_write=is_write)
            except (sqlite3.Error, OSError) as error:
                self._close()
                code = getattr(error, "sqlite_errorcode", 0) or 0
                if not isinstance(error, sqlite3.DatabaseError) or code & 0xFF in _PASSING | {sqlite3.SQLITE_CANTOPEN}:
                    raise self._storage_error(error) from error
                return self._done_anew(act, error, is_write=is_write)

    def _done_anew(self, act: Callable[[sqlite3.Connection], T], damage: Exception, *, is_write: bool) -> T:
        try:
            set_aside(self._path, str(damage))
            return self._done(act, is_write=is_write)
        except (sqlite3.Error, OSError) as error:
            self._close()
            raise self._storage_error(error) from error

    def _done(self, act: Callable[[sqlite3.Connection], T], *, is_write: bool) -> T:
        connection = self._open()
        self._claim(connection)
        with connection:
            done = act(connection)
        self._writes += is_write
        return done

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                _ensure_tables(connection)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _claim(self, connection: sqlite3.Connection) -> None:
        """Empty the collection if its vectors cannot be compared with those of the own model."""
        own = (self._model, self._dimensions)
        query = "SELECT model, dimensions FROM collections WHERE name = ?"
        if connection.execute(query, (self._collection,)).fetchone() == own:
            return
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute(query, (self._collection,)).fetchone() == own:  # another process was quicker
                return
            connection.execute("DELETE FROM entries WHERE collection = ?", (self._collection,))
            connection.execute("INSERT OR REPLACE INTO collections VALUES (?, ?, ?)", (self._collection, *own))
            connection.execute("UPDATE writes SET number = number + 1")

    def _close(self) -> None:
        connection, self._connection, self._loaded = self._connection, None, None
        if connection is not None:
            connection.close()

    def _storage_error(self, error: Exception) -> StateStorageError:
        return StateStorageError(
            f"the vector store {self._path} cannot be read or written: {error}; check the folder, or delete the file: "
            "it is made anew",
            path=str(self._path),
        )


def _ensure_tables(connection: sqlite3.Connection) -> None:
    if _format_of(connection) == FORMAT:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _format_of(connection) == FORMAT:  # another process was quicker
            return
        for statement in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {statement.split()[2]}")
            connection.execute(statement)
        connection.execute("INSERT INTO writes VALUES (?)", (first_number(),))
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
