"""Defines the tables of the index file and opens it.

It is one SQLite database in WAL mode. All of it can be rebuilt from the repository, so a file of another schema
version, another root or other languages, or one that is damaged, is simply rebuilt.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

SCHEMA_VERSION = 12
BUSY_TIMEOUT_S = 60.0
_WRITER_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "temp_store = MEMORY", "cache_size = -65536")

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL, language TEXT, lines INTEGER NOT NULL, status TEXT NOT NULL, note TEXT NOT NULL
);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, name TEXT NOT NULL, qualified_name TEXT NOT NULL,
    kind TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, name_line INTEGER NOT NULL,
    signature TEXT NOT NULL, docstring TEXT NOT NULL, parent_id INTEGER
);
CREATE INDEX symbols_by_name ON symbols (name COLLATE NOCASE);
CREATE INDEX symbols_by_file ON symbols (file_id, start_line);
CREATE TABLE refs (
    file_id INTEGER NOT NULL, line INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, qualifier TEXT NOT NULL,
    symbol_id INTEGER
);
CREATE INDEX refs_by_name ON refs (name);
CREATE INDEX refs_by_file ON refs (file_id, line);
CREATE TABLE imports (
    file_id INTEGER NOT NULL, line INTEGER NOT NULL, module TEXT NOT NULL, name TEXT NOT NULL, alias TEXT NOT NULL,
    target TEXT
);
CREATE INDEX imports_by_file ON imports (file_id);
CREATE INDEX imports_by_target ON imports (target);
CREATE INDEX imports_by_name ON imports (name);
CREATE TABLE facts (file_id INTEGER PRIMARY KEY, package TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    symbol_id INTEGER, key BLOB NOT NULL
);
CREATE INDEX chunks_by_file ON chunks (file_id);
CREATE TABLE chunk_vectors (file_id INTEGER PRIMARY KEY, chunk_id INTEGER NOT NULL, vectors BLOB NOT NULL);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, kind TEXT NOT NULL, start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL, heading TEXT NOT NULL, names TEXT NOT NULL, key BLOB NOT NULL
);
CREATE INDEX passages_by_file ON passages (file_id);
CREATE VIRTUAL TABLE passage_text USING fts5 (body, heading, tokenize = 'ascii');
CREATE VIRTUAL TABLE passage_terms USING fts5vocab (passage_text, row);
CREATE VIRTUAL TABLE chunk_text USING fts5 (body, names, path, doc, tokenize = 'ascii');
CREATE VIRTUAL TABLE chunk_terms USING fts5vocab (chunk_text, row);
"""


def connect_writer(path: Path, *, max_pages: int | None = None) -> sqlite3.Connection:
    """Open a connection for writing, with explicit transactions. `max_pages` caps the file, 4096 bytes a page."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        for pragma in _WRITER_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if max_pages is not None:
            connection.execute(f"PRAGMA max_page_count = {int(max_pages)}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a read-only connection. sqlite3.OperationalError if there is no such file."""
    location = f"file:{quote(str(path.absolute()))}"
    connection = sqlite3.connect(f"{location}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        # In a read-only folder SQLite cannot create the shared memory of its write-ahead log.
        connection = sqlite3.connect(f"{location}?immutable=1", uri=True, check_same_thread=False)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
    connection.execute("PRAGMA mmap_size = 268435456")
    return connection


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a file; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables within the open transaction."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def read_meta(connection: sqlite3.Connection, key: str) -> str | None:
    """Return a value of the meta table, or None."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def write_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Set a value of the meta table."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
