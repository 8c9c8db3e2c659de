"""Queries an index file by SQL, without access to the repository itself.

Each thread gets a connection of its own, opened read-only on its first query, and closed some time after its end. A
reader that nobody refers to any longer closes all of them.
"""

from __future__ import annotations

import functools
import math
import sqlite3
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.codebase.index import tables
from runtime.codebase.index.records import ImportRecord, IndexedFile, ReferenceRecord, SymbolRecord
from runtime.codebase.index.seal import break_seal, is_damage
from runtime.codebase.index.state_memo import StateMemo
from runtime.errors import StateStorageError

if TYPE_CHECKING:
    from runtime.codebase.index.chunk_vectors import ChunkVectors

QUERY_TIMEOUT_S = 10.0
MAX_KEPT_COUNTS = 50_000
_IDS_PER_QUERY = 500
_STEPS_BETWEEN_LOOKS = 200_000

_SYMBOLS = """SELECT s.id, f.path, s.name, s.qualified_name, s.kind, s.start_line, s.end_line, s.name_line, s.signature,
    s.docstring, s.parent_id FROM symbols s JOIN files f ON f.id = s.file_id """
_REFERENCES = """SELECT f.path, r.line, r.name, r.kind, r.qualifier, s.qualified_name, r.symbol_id FROM refs r
    JOIN files f ON f.id = r.file_id LEFT JOIN symbols s ON s.id = r.symbol_id """
_IMPORTS = (
    """SELECT f.path, i.line, i.module, i.name, i.alias, i.target FROM imports i JOIN files f ON f.id = i.file_id """
)
_FILES = "SELECT path, size, sha256, language, lines, status, note FROM files "


class IndexReader:
    """Reads one index file; results come in a fixed order."""

    def __init__(self, index_path: Path, *, timeout_s: float = QUERY_TIMEOUT_S) -> None:
        self._path = index_path
        self._timeout_s = timeout_s
        self._inode = _inode_of(index_path)
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._guard = threading.Lock()
        # By a weak reference: the end of the reader closes its connections at once.
        itself = weakref.proxy(self)
        self._counts: StateMemo[dict[str, int]] = StateMemo(itself, dict)
        self._vectors: StateMemo[ChunkVectors] = StateMemo(itself, lambda: _chunk_vectors(itself))
        self._close_all = weakref.finalize(self, _close_connections, self._open)
        self._close_all.atexit = False
        version = tables.schema_version(self._connection)
        if version != tables.SCHEMA_VERSION:
            self.close()
            raise StateStorageError(
                f"the index {index_path} has version {version}, this program reads {tables.SCHEMA_VERSION}; refresh it",
                path=str(index_path),
            )

    @property
    def path(self) -> Path:
        """The index file."""
        return self._path

    def close(self) -> None:
        """Close the connections of all threads; the reader cannot be used afterwards."""
        with self._guard:
            self._close_all()

    def is_current(self) -> bool:
        """Return whether the file that was opened is still the one at its path: a rebuilt index is another file."""
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            try:
                connection = tables.connect_reader(self._path)
            except sqlite3.Error as error:
                raise StateStorageError(
                    f"the index {self._path} cannot be opened: {error}; refresh it", path=str(self._path)
                ) from error
            # A thread cannot be killed; a statement that takes too long is ended from within.
            # It does not refer to the reader, whose end closes the connection.
            is_late = functools.partial(_is_late, self._local)
            connection.set_progress_handler(is_late, _STEPS_BETWEEN_LOOKS)
            self._local.connection = connection
            self._keep(connection)
        return connection

    def _keep(self, connection: sqlite3.Connection) -> None:
        """Keep the new connection of this thread, and close those of threads that have ended: they would add up."""
        with self._guard:
            left = [each for each in self._open if not each[0].is_alive()]
            self._open[:] = [each for each in self._open if each not in left]
            self._open.append((threading.current_thread(), connection))
        for _, other in left:
            other.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query. StateStorageError if the file is damaged, or after `timeout_s` (ten seconds)."""
        connection = self._connection
        self._local.deadline_s = time.monotonic() + self._timeout_s
        try:
            return connection.execute(sql, values).fetchall()
        except UnicodeEncodeError:
            # A value with a lone surrogate cannot be stored as text, so no index contains it.
            return []
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise StateStorageError(
                    f"a question to the index {self._path} took longer than {self._timeout_s:g} s and was ended; "
                    "ask for less, or name a scope",
                    path=str(self._path),
                ) from error
            if is_damage(error):
                break_seal(self._path)
            raise StateStorageError(
                f"the index {self._path} cannot be read: {error}; refresh it", path=str(self._path)
            ) from error

    def generation(self) -> str:
        """Return a mark that changes with every refresh that changed the index."""
        return tables.read_meta(self._connection, "generation") or ""

    def root(self) -> str:
        """Return the root that was indexed."""
        return tables.read_meta(self._connection, "root") or ""

    def files(self) -> list[IndexedFile]:
        """Return every file, including skipped ones, by path."""
        return [IndexedFile(*row) for row in self.rows(_FILES + "ORDER BY path")]

    def file(self, path: str) -> IndexedFile | None:
        """Return the file at a path, or None."""
        found = self.rows(_FILES + "WHERE path = ?", (path,))
        return IndexedFile(*found[0]) if found else None

    def sizes_of_readable(self) -> list[tuple[str, int, int, str | None]]:
        """Return (path, size in bytes, lines, language) of the files that may be read."""
        return self.rows("SELECT path, size, lines, language FROM files WHERE status != 'skipped'")

    def symbols(self, where: str, values: Sequence[Any], limit: int = 1000) -> list[SymbolRecord]:
        """Return symbols that match an SQL condition over `s` and `f`, by file and line."""
        sql = f"{_SYMBOLS} WHERE {where} ORDER BY f.path, s.start_line, s.end_line DESC, s.id LIMIT ?"
        return [SymbolRecord(*row) for row in self.rows(sql, (*values, limit))]

    def symbols_of_name(self, name: str, limit: int = 5000) -> list[SymbolRecord]:
        """Return symbols of a simple name in any case, by file and line."""
        return self.symbols("s.name = ? COLLATE NOCASE", (name,), limit)

    def symbol(self, symbol_id: int) -> SymbolRecord | None:
        """Return the symbol of an id, or None if it no longer exists."""
        return next(iter(self.symbols("s.id = ?", (symbol_id,))), None)

    def references(self, where: str, values: Sequence[Any], limit: int = 5000) -> list[ReferenceRecord]:
        """Return references that match an SQL condition over `r` and `f`, by file and line."""
        sql = f"{_REFERENCES} WHERE {where} ORDER BY f.path, r.line LIMIT ?"
        return [ReferenceRecord(*row) for row in self.rows(sql, (*values, limit))]

    def imports(self, where: str, values: Sequence[Any], limit: int = 5000) -> list[ImportRecord]:
        """Return imports that match an SQL condition over `i` and `f`, by file and line."""
        sql = f"{_IMPORTS} WHERE {where} ORDER BY f.path, i.line LIMIT ?"
        return [ImportRecord(*row) for row in self.rows(sql, (*values, limit))]

    def imports_of_files(self, paths: Sequence[str]) -> list[ImportRecord]:
        """Return all imports of files that are named in order, by file and line."""
        found: list[ImportRecord] = []
        for at in range(0, len(paths), _IDS_PER_QUERY):
            part = paths[at : at + _IDS_PER_QUERY]
            sql = f"{_IMPORTS} WHERE f.path IN ({', '.join('?' * len(part))}) ORDER BY f.path, i.line"
            found += [ImportRecord(*row) for row in self.rows(sql, part)]
        return found

    def file_links(self) -> list[tuple[str, str, int]]:
        """Return (importing file, imported file or folder, line) of imports within the repository, each pair once."""
        sql = """SELECT f.path, i.target, min(i.line) FROM imports i JOIN files f ON f.id = i.file_id
            WHERE i.target IS NOT NULL GROUP BY f.path, i.target ORDER BY f.path, i.target"""
        return [(path, target, line) for path, target, line in self.rows(sql)]

    def files_naming(self, name: str) -> list[str]:
        """Return the paths of files that mention a name in code, in order."""
        sql = "SELECT DISTINCT f.path FROM refs r JOIN files f ON f.id = r.file_id WHERE r.name = ? ORDER BY f.path"
        return [path for (path,) in self.rows(sql, (name,))]

    def top_level_names(self, paths: Collection[str], kinds: Sequence[str]) -> list[SymbolRecord]:
        """Return the definitions of the given kinds in files that lie in at most two others, by file and line."""
        found: list[SymbolRecord] = []
        ordered, marks = sorted(paths), ", ".join("?" * len(kinds))
        for at in range(0, len(ordered), _IDS_PER_QUERY):
            part = ordered[at : at + _IDS_PER_QUERY]
            where = f"f.path IN ({', '.join('?' * len(part))}) AND s.kind IN ({marks})"
            found += self.symbols(f"{where} AND s.qualified_name NOT LIKE '%.%.%.%'", (*part, *kinds), 20_000)
        return found

    def uses_of_names(self, names: Collection[str], languages: Sequence[str]) -> list[tuple[str, str, str, int]]:
        """Return (path, name, qualifier, first line) of the uses of names in files of the given languages."""
        found: list[tuple[str, str, str, int]] = []
        ordered, marks = sorted(names), ", ".join("?" * len(languages))
        for at in range(0, len(ordered), _IDS_PER_QUERY):
            part = ordered[at : at + _IDS_PER_QUERY]
            sql = f"""SELECT f.path, r.name, r.qualifier, min(r.line) FROM refs r JOIN files f ON f.id = r.file_id
                WHERE r.name IN ({", ".join("?" * len(part))}) AND f.language IN ({marks}) GROUP BY 1, 2, 3"""
            found += self.rows(sql, (*part, *languages))
        return found

    def lines_of_methods(self, languages: Sequence[str]) -> dict[str, int]:
        """Return the lines of the methods of each type in files of the given languages, by the name of the type."""
        owner = "substr(s.qualified_name, 1, instr(s.qualified_name, '.') - 1)"
        marks = ", ".join("?" * len(languages))
        sql = f"""SELECT {owner}, sum(s.end_line - s.start_line + 1)
            FROM symbols s JOIN files f ON f.id = s.file_id
            WHERE s.kind = 'method' AND instr(s.qualified_name, '.') > 1 AND f.language IN ({marks}) GROUP BY 1"""
        return dict(self.rows(sql, tuple(languages)))

    def files_with_term(self, term: str, limit: int) -> list[str]:
        """Return the paths of files with a chunk whose body has a term of the full-text index, in order."""
        sql = """SELECT DISTINCT f.path FROM chunk_text t JOIN chunks c ON c.id = t.rowid
            JOIN files f ON f.id = c.file_id WHERE chunk_text MATCH ? ORDER BY f.path LIMIT ?"""
        return [path for (path,) in self.rows(sql, (f'body : "{term}"', limit))]

    def document_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term; terms that occur nowhere are left out."""
        kept = self._counts.value()
        counts = {term: count for term in terms if (count := kept.get(term)) is not None}
        missing = [term for term in dict.fromkeys(terms) if term not in counts]
        for at in range(0, len(missing), _IDS_PER_QUERY):
            part = missing[at : at + _IDS_PER_QUERY]
            # Takes long for terms that are in many chunks.
            sql = f"SELECT term, doc FROM chunk_terms WHERE term IN ({', '.join('?' * len(part))})"
            counts |= dict.fromkeys(part, 0) | dict(self.rows(sql, part))
        if len(kept) > MAX_KEPT_COUNTS:
            kept.clear()
        kept.update(counts)
        return {term: counts[term] for term in terms if counts[term]}

    def terms_from(self, start: str, limit: int) -> list[str]:
        """Return terms of the full-text index with a given prefix, in order."""
        sql = "SELECT term FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?"
        return [term for (term,) in self.rows(sql, (start, start + "{", limit))]

    def has_term(self, terms: Sequence[str]) -> bool:
        """Return whether any piece of code or prose has one of the terms."""
        sql = f"SELECT 1 FROM {{table}} WHERE term IN ({', '.join('?' * len(terms))}) LIMIT 1"
        return any(self.rows(sql.format(table=table), terms) for table in ("chunk_terms", "passage_terms"))

    def has_phrase(self, phrases: Sequence[Sequence[str]]) -> bool:
        """Return whether any piece of code has the terms of one of the phrases in a row; terms are words alone."""
        match = " OR ".join(f'"{" ".join(phrase)}"' for phrase in phrases)
        return bool(match and self.rows("SELECT 1 FROM chunk_text WHERE chunk_text MATCH ? LIMIT 1", (match,)))

    def has_pair(self, pair: tuple[str, str]) -> bool:
        """Return whether two terms stand within eight words of each other in any piece of code or prose."""
        sql, near = "SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", f'NEAR("{pair[0]}" "{pair[1]}", 8)'
        return any(self.rows(sql.format(table=table), (near,)) for table in ("chunk_text", "passage_text"))

    def symbol_names(self, limit: int) -> list[str]:
        """Return the simple names of symbols, each once; which of more than the limit is not determined."""
        return [name for (name,) in self.rows("SELECT DISTINCT name FROM symbols LIMIT ?", (limit,))]

    def has_name_with(self, part: str) -> bool:
        """Return whether the path of a file, read or not, or the name of a symbol holds a lower-case text."""
        asked = (("files", "path"), ("symbols", "name"))
        return any(
            self.rows(f"SELECT 1 FROM {table} WHERE instr(lower({column}), ?) LIMIT 1", (part,))
            for table, column in asked
        )

    def pieces_with_term(self, term: str, limit: int) -> list[tuple[str, int, int]]:
        """Return (path, first line, last line) of the chunks that have a term, by path."""
        sql = """SELECT f.path, c.start_line, c.end_line FROM chunk_text t JOIN chunks c ON c.id = t.rowid
            JOIN files f ON f.id = c.file_id WHERE chunk_text MATCH ? LIMIT ?"""
        return sorted(self.rows(sql, (f'"{term}"', limit)))

    def paths_of_passages(self, terms: Sequence[str], kinds: Collection[str], limit: int) -> list[str]:
        """Return the paths of at most so many passages of some kinds that have all of the terms, at least one."""
        sql = f"""SELECT f.path FROM passage_text t JOIN passages p ON p.id = t.rowid JOIN files f ON f.id = p.file_id
            WHERE passage_text MATCH ? AND p.kind IN ({", ".join("?" * len(kinds))}) LIMIT ?"""
        match = " AND ".join(f'"{term}"' for term in terms)
        return sorted(path for (path,) in self.rows(sql, (match, *kinds, limit)))

    def chunk_count(self) -> int:
        """Return the number of chunks in the index."""
        return int(self.rows("SELECT count(*) FROM chunks")[0][0])

    def piece_count(self) -> int:
        """Return the number of pieces that get vectors."""
        return int(self.rows("SELECT (SELECT count(*) FROM chunks) + (SELECT count(*) FROM passages)")[0][0])

    def ranked_chunks(
        self, match: str, weights: Sequence[float], limit: int, scope: str | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Return the best chunks as (chunk id, path, start, end, symbol id, qualified name, BM25 score), best first."""
        marks = ", ".join("?" * len(weights))
        inside = ""
        values: tuple[Any, ...] = ()
        if scope is not None:
            inside = """AND rowid IN (SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id
                WHERE f.path = ? OR substr(f.path, 1, ?) = ?)"""
            values = (scope, len(scope) + 1, scope + "/")
        sql = f"""SELECT c.id, f.path, c.start_line, c.end_line, c.symbol_id, s.qualified_name, t.score FROM
            (SELECT rowid, -bm25(chunk_text, {marks}) AS score FROM chunk_text WHERE chunk_text MATCH ? {inside}
             ORDER BY score DESC, rowid LIMIT ?) t
            JOIN chunks c ON c.id = t.rowid JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id
            ORDER BY t.score DESC, c.id"""
        return iter(self.rows(sql, (*weights, match, *values, limit)))

    def chunk_places(self, chunk_ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return (chunk id, path, start, end, symbol id, qualified name) of chunks, by id, of those that exist."""
        found: list[tuple[Any, ...]] = []
        for at in range(0, len(chunk_ids), _IDS_PER_QUERY):
            ids = chunk_ids[at : at + _IDS_PER_QUERY]
            found += self.rows(
                f"""SELECT c.id, f.path, c.start_line, c.end_line, c.symbol_id, s.qualified_name FROM chunks c
                JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id
                WHERE c.id IN ({", ".join("?" * len(ids))}) ORDER BY c.id""",
                ids,
            )
        return found

    def chunk_at(self, path: str, line: int) -> int | None:
        """Return the id of the chunk that holds a line of a file, or None."""
        sql = """SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id
            WHERE f.path = ? AND c.start_line <= ? AND c.end_line >= ?"""
        return next((int(found) for (found,) in self.rows(sql, (path, line, line))), None)

    def defined_names(self, names: Collection[str]) -> frozenset[str]:
        """Return those names that a symbol of the index has."""
        wanted = sorted(names)
        found: set[str] = set()
        for at in range(0, len(wanted), _IDS_PER_QUERY):
            part = wanted[at : at + _IDS_PER_QUERY]
            marks = ", ".join("?" * len(part))
            # The column's index ignores case; without it the whole table would be read.
            sql = f"SELECT DISTINCT name FROM symbols WHERE name COLLATE NOCASE IN ({marks}) AND name IN ({marks})"
            found.update(name for (name,) in self.rows(sql, (*part, *part)))
        return frozenset(found)

    def symbol_kinds(self, symbol_ids: Sequence[int]) -> dict[int, str]:
        """Return the kind of each symbol that exists."""
        kinds: dict[int, str] = {}
        for at in range(0, len(symbol_ids), _IDS_PER_QUERY):
            ids = symbol_ids[at : at + _IDS_PER_QUERY]
            kinds.update(self.rows(f"SELECT id, kind FROM symbols WHERE id IN ({', '.join('?' * len(ids))})", ids))
        return kinds

    def chunk_vectors(self) -> ChunkVectors:
        """Return the vectors of all chunks, made of their terms."""
        return self._vectors.value()

    def chunk_texts(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, str, str, str]]:
        """Return the indexed terms of chunks: body, names, path, doc."""
        texts: dict[int, tuple[str, str, str, str]] = {}
        for at in range(0, len(chunk_ids), _IDS_PER_QUERY):
            ids = chunk_ids[at : at + _IDS_PER_QUERY]
            marks = ", ".join("?" * len(ids))
            rows = self.rows(f"SELECT rowid, body, names, path, doc FROM chunk_text WHERE rowid IN ({marks})", ids)
            texts.update({chunk_id: (body, names, path, doc) for chunk_id, body, names, path, doc in rows})
        return texts


def _close_connections(opened: list[tuple[threading.Thread, sqlite3.Connection]]) -> None:
    for _, connection in opened:
        connection.close()
    opened.clear()


def _is_late(local: threading.local) -> bool:
    return time.monotonic() > getattr(local, "deadline_s", math.inf)


def _inode_of(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None  # opening it reports what is wrong


def _chunk_vectors(index: IndexReader) -> ChunkVectors:
    # Most processes that open an index never compare terms, and the library for it takes long to import.
    from runtime.codebase.index.chunk_vectors import chunk_vectors

    return chunk_vectors(index)
