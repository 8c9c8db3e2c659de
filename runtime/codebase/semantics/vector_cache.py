"""Keeps embeddings by the hash of their text, in one SQLite file of a state folder.

It serves all repositories: a piece that is identical in another commit or checkout is embedded once. The file is also
where other processes leave word for the one that embeds: which indexes want vectors, and which texts are wanted first.
Nothing depends on the file: one that cannot be read or written is set aside and made anew, which only costs time.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from runtime.codebase.index.piece_text import KEY_BYTES
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.packing import NO_VECTOR, PACKED_BYTES, pack, unpack
from runtime.database.set_aside import set_aside

MAX_VECTORS = 600_000
MAX_FIRST = 2_000
WANTED_FOR_S = 86_400.0
BUSY_TIMEOUT_S = 2.0
# Raised with every change of the model, of the text of a piece or of the form of the vectors: older files are emptied.
FORMAT = 2
_KEYS_PER_QUERY = 500
_TABLES = (
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)",
    "CREATE TABLE progress (owner TEXT PRIMARY KEY, made INTEGER NOT NULL, total INTEGER NOT NULL, noted_s REAL)",
    "CREATE TABLE first (id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, text TEXT NOT NULL)",
    "CREATE TABLE wanted (index_path TEXT PRIMARY KEY, root TEXT NOT NULL, wanted_s REAL NOT NULL)",
)
_LATER_TABLES = (
    *(
        f"CREATE TABLE IF NOT EXISTS {name} (index_path TEXT PRIMARY KEY, root TEXT NOT NULL, wanted_s REAL NOT NULL)"
        for name in ("wanted_windows", "wanted_stored")
    ),
    "CREATE TABLE IF NOT EXISTS whole (index_path TEXT, kind TEXT, generation TEXT, PRIMARY KEY (index_path, kind))",
)
# SQLite locks that other processes hold, a full disk and failed reads pass by themselves.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})

log = logging.getLogger(__name__)


# First vectors of pieces, and further ones of chunks.
PieceKind = Literal["pieces", "windows"]


class WantedIndex(NamedTuple):
    """Names an index whose pieces are to get vectors, and its repository."""

    index_path: str
    root: str


class Packed(NamedTuple):
    """Pairs a packed vector with its id; ids grow in the order in which vectors are added."""

    id: int
    data: bytes


class WindowList(NamedTuple):
    """Names the windows of a chunk behind its beginning, in order; `id`: its place among the vectors added."""

    id: int
    keys: tuple[bytes, ...]


class VectorCache:
    """Reads and adds vectors, one byte per number on disk; beyond `max_vectors` the oldest are deleted."""

    def __init__(self, path: Path, *, max_vectors: int = MAX_VECTORS) -> None:
        self.max_vectors = max_vectors
        self._path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_broken = False

    def get(self, keys: Sequence[bytes], *, until: int | None = None) -> dict[bytes, Vectors]:
        """Return the kept vectors, by key; with `until`, those that were added no later than the one of that id."""
        kept = self.packed(keys).items()
        return {key: unpack(data) for key, (number, data) in kept if until is None or number <= until}

    def packed(self, keys: Sequence[bytes]) -> dict[bytes, Packed]:
        """Return the kept vectors as they are packed, by key."""
        found: dict[bytes, Packed] = {}

        def read(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[at : at + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                rows = connection.execute(f"SELECT id, key, vector FROM vectors WHERE key IN ({marks})", part)
                found.update({key: Packed(number, data) for number, key, data in rows if len(data) == PACKED_BYTES})

        self._work(read)
        return found

    def ids(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the ids of the kept vectors, by key; a vector that was added later has a higher one."""
        found: dict[bytes, int] = {}

        def read(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[at : at + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                found.update(connection.execute(f"SELECT key, id FROM vectors WHERE key IN ({marks})", part))

        self._work(read)
        return found

    def without_vectors(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those of the keys whose text cannot be embedded."""
        found: set[bytes] = set()

        def read(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[at : at + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                query = f"SELECT key FROM vectors WHERE key IN ({marks}) AND vector = ?"
                found.update(key for (key,) in connection.execute(query, (*part, pack(NO_VECTOR))))

        self._work(read)
        return found

    def window_lists_after(self, last_id: int) -> dict[bytes, WindowList]:
        """Return the lists of windows that were added after the vector of an id, by their keys."""
        found: dict[bytes, WindowList] = {}

        def read(connection: sqlite3.Connection) -> None:
            query = "SELECT key, id, vector FROM vectors WHERE id > ? AND length(vector) != ?"
            rows = connection.execute(query, (last_id, PACKED_BYTES))
            found.update({key: WindowList(number, _split(data)) for key, number, data in rows})

        self._work(read)
        return found

    def packed_after(self, last_id: int) -> tuple[dict[bytes, Packed], int]:
        """Return the packed vectors that were added after the one of an id, and the id of the newest."""
        found: dict[bytes, Packed] = {}
        newest = last_id

        def read(connection: sqlite3.Connection) -> None:
            nonlocal newest
            for number, key, data in connection.execute("SELECT id, key, vector FROM vectors WHERE id > ?", (last_id,)):
                newest = max(newest, number)
                if len(data) == PACKED_BYTES:
                    found[key] = Packed(number, data)

        self._work(read)
        return found, newest

    def newest_id(self) -> int:
        """Return the id of the vector added last; 0 without any."""
        newest = 0

        def read(connection: sqlite3.Connection) -> None:
            nonlocal newest
            (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()

        self._work(read)
        return newest

    def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Add vectors; existing ones stay as they are."""
        rows = [(key, pack(vector)) for key, vector in vectors.items()]

        def add(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
            connection.executemany("DELETE FROM first WHERE key = ?", [(key,) for key, _ in rows])
            self._delete_oldest(connection)

        self._work(add)

    def put_windows(self, lists: Mapping[bytes, Sequence[bytes]], vectors: Mapping[bytes, Vectors]) -> None:
        """Add vectors of windows, and lists of the keys of windows behind them; existing ones stay as they are.

        A list has an id above those of the vectors added with it. It must not be as long as a packed vector.
        """
        rows = [(key, pack(vector)) for key, vector in vectors.items()]
        rows += [(key, b"".join(keys)) for key, keys in lists.items()]

        def add(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
            self._delete_oldest(connection)

        self._work(add)

    def window_lists(self, keys: Sequence[bytes]) -> dict[bytes, WindowList]:
        """Return the lists of windows that are kept, by their keys."""
        found: dict[bytes, WindowList] = {}

        def read(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[at : at + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                rows = connection.execute(f"SELECT key, id, vector FROM vectors WHERE key IN ({marks})", part)
                found.update({key: WindowList(number, _split(data)) for key, number, data in rows})

        self._work(read)
        return found

    def want_first(self, texts: Mapping[bytes, str]) -> None:
        """Leave word that these texts are to be embedded before all others; of too many, the oldest are forgotten."""
        rows = [(key, text.encode("utf-8", "replace").decode()) for key, text in texts.items()]

        def add(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO first (key, text) VALUES (?, ?)", rows)
            (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM first").fetchone()
            connection.execute("DELETE FROM first WHERE id <= ?", (newest - MAX_FIRST,))

        self._work(add)

    def wanted_first(self, limit: int) -> dict[bytes, str]:
        """Return texts to be embedded before all others, those of the latest question first."""
        found: dict[bytes, str] = {}

        def read(connection: sqlite3.Connection) -> None:
            found.update(connection.execute("SELECT key, text FROM first ORDER BY id DESC LIMIT ?", (limit,)))

        self._work(read)
        return found

    def forget_first(self, keys: Sequence[bytes]) -> None:
        """Forget texts that could not be embedded."""
        self._work(lambda db: db.executemany("DELETE FROM first WHERE key = ?", [(key,) for key in keys]))

    def want(self, index: WantedIndex) -> None:
        """Leave word that the pieces of an index are to get vectors, before those of indexes asked for earlier."""
        self._work(lambda db: db.execute("INSERT OR REPLACE INTO wanted VALUES (?, ?, ?)", (*index, time.time())))

    def wanted(self) -> list[WantedIndex]:
        """Return the indexes of the last day whose pieces are to get vectors, the latest first."""
        return self._wanted_in("wanted")

    def done_with(self, index: WantedIndex) -> None:
        """Take back that an index wants vectors."""
        self._work(lambda db: db.execute("DELETE FROM wanted WHERE index_path = ?", (index.index_path,)))

    def want_windows(self, index: WantedIndex) -> None:
        """Leave word that the further windows of an index's chunks are to get vectors, after its pieces have."""
        row = (*index, time.time())
        self._work(lambda db: db.execute("INSERT OR REPLACE INTO wanted_windows VALUES (?, ?, ?)", row))

    def wanted_windows(self) -> list[WantedIndex]:
        """Return the indexes of the last day whose further windows are to get vectors, the latest first."""
        return self._wanted_in("wanted_windows")

    def done_with_windows(self, index: WantedIndex) -> None:
        """Take back that an index wants its further windows."""
        self._work(lambda db: db.execute("DELETE FROM wanted_windows WHERE index_path = ?", (index.index_path,)))

    def want_stored(self, index: WantedIndex) -> None:
        """Leave word that the vectors of an index's pieces are to be kept in the vector store too."""
        row = (*index, time.time())
        self._work(lambda db: db.execute("INSERT OR REPLACE INTO wanted_stored VALUES (?, ?, ?)", row))

    def wanted_stored(self) -> list[WantedIndex]:
        """Return the indexes of the last day whose vectors are to be kept in the vector store, the latest first."""
        return self._wanted_in("wanted_stored")

    def done_with_stored(self, index: WantedIndex) -> None:
        """Take back that the vectors of an index are to be kept in the vector store."""
        self._work(lambda db: db.execute("DELETE FROM wanted_stored WHERE index_path = ?", (index.index_path,)))

    def note_whole(self, index: WantedIndex, kind: PieceKind, generation: str) -> None:
        """Remember that pieces of a kind lacked nothing in that generation of an index, until a vector is deleted."""
        row = (index.index_path, kind, generation)
        self._work(lambda db: db.execute("INSERT OR REPLACE INTO whole VALUES (?, ?, ?)", row))

    def is_whole(self, index: WantedIndex, kind: PieceKind, generation: str) -> bool:
        """Return True if that was remembered of the same generation of an index."""
        found: list[tuple[str]] = []
        query = "SELECT generation FROM whole WHERE index_path = ? AND kind = ?"
        self._work(lambda db: found.extend(db.execute(query, (index.index_path, kind))))
        return found == [(generation,)]

    def _delete_oldest(self, connection: sqlite3.Connection) -> None:
        (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()
        if connection.execute("DELETE FROM vectors WHERE id <= ?", (newest - self.max_vectors,)).rowcount:
            connection.execute("DELETE FROM whole")

    def _wanted_in(self, table: str) -> list[WantedIndex]:
        found: list[WantedIndex] = []

        def read(connection: sqlite3.Connection) -> None:
            since_s = time.time() - WANTED_FOR_S
            query = f"SELECT index_path, root FROM {table} WHERE wanted_s > ? ORDER BY wanted_s DESC"
            found[:] = [WantedIndex(*row) for row in connection.execute(query, (since_s,))]

        self._work(read)
        return found

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

    def _work(self, act: Callable[[sqlite3.Connection], object]) -> None:
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
                _ensure_tables(connection)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _complain(self, error: Exception) -> None:
        if not self._is_broken:
            log.warning("vectors.unusable", extra={"path": str(self._path), "error": str(error)})
        self._is_broken = True


def _ensure_tables(connection: sqlite3.Connection) -> None:
    # Younger than the format, and needed by no other version.
    for statement in _LATER_TABLES:
        connection.execute(statement)
    if _format_of(connection) == FORMAT:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _format_of(connection) == FORMAT:  # another process was quicker
            return
        connection.execute("DELETE FROM whole")
        for statement in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {statement.split()[2]}")
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _split(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES))


def _format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_of_the_file(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _PASSING
