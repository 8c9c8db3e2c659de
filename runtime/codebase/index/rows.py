"""Adds and removes the rows of files in the index.

`RowWriter` collects the rows of several files and writes them together; ids are allocated here, since there is no other
writer while a refresh holds the transaction.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.codebase.files.file_entry import FileEntry
from runtime.codebase.files.project_config import ProjectConfig
from runtime.codebase.files.source_text import SourceText, try_read_source
from runtime.codebase.index.file_rows import Cutting, FileRows, file_rows
from runtime.codebase.index.parsing_processes import Parsing, ParsingProcesses
from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_registry import languages
from runtime.codebase.parsing.import_resolution import ImportResolver

_ROWS_PER_FLUSH = 4_000

_INSERTS: dict[str, str] = {
    "files": "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "symbols": "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "refs": "INSERT INTO refs VALUES (?, ?, ?, ?, ?, ?)",
    "imports": "INSERT INTO imports VALUES (?, ?, ?, ?, ?, NULL)",
    "chunks": "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
    "passages": "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "passage_text": "INSERT INTO passage_text (rowid, body, heading) VALUES (?, ?, ?)",
    "facts": "INSERT INTO facts VALUES (?, ?, ?)",
    "chunk_vectors": "INSERT INTO chunk_vectors VALUES (?, ?, ?)",
    "chunk_text": "INSERT INTO chunk_text (rowid, body, names, path, doc) VALUES (?, ?, ?, ?, ?)",
}


@dataclass(frozen=True, slots=True)
class KnownFile:
    """Describes a file that is already in the index."""

    id: int
    size: int
    mtime_ns: int
    sha256: str
    status: str
    note: str

    @property
    def has_text(self) -> bool:
        """True if the content of the file is in the index."""
        return self.status != "skipped"

    @property
    def skip_reason_by_walk(self) -> str | None:
        """The reason for which a walk skipped the file; None if it was read, even if it turned out to be binary."""
        return self.note if self.status == "skipped" and self.note != "binary" else None


def known_files(connection: sqlite3.Connection) -> dict[str, KnownFile]:
    """Return every file in the index by its path."""
    rows = connection.execute("SELECT path, id, size, mtime_ns, sha256, status, note FROM files")
    return {path: KnownFile(*values) for path, *values in rows}


class RowWriter:
    """Adds and removes files within the caller's transaction; `flush` must be called at the end."""

    def __init__(self, connection: sqlite3.Connection, project: ProjectConfig, processes: ParsingProcesses) -> None:
        self._cutting = Cutting.of(project)
        self._processes = processes
        # In the order of their ids, which is that of their rows.
        self._parsed: deque[tuple[int, FileEntry, str, Parsing]] = deque()
        self._connection = connection
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _INSERTS}
        self._next_file = _next_id(connection, "files")
        self._next_symbol = _next_id(connection, "symbols")
        self._next_chunk = _next_id(connection, "chunks")
        self._next_passage = _next_id(connection, "passages")

    def add(self, entry: FileEntry, source: SourceText | None, skip_reason: str) -> int:
        """Add a file that is not in the index, and return its id; `source` is None if it is skipped."""
        file_id = self._next_file
        self._next_file += 1
        if source is None:
            row = (file_id, entry.path, entry.size, entry.mtime_ns, "", entry.language, 0, "skipped", skip_reason)
            self._rows["files"].append(row)
            return file_id
        parsing = self._processes.begin(entry.path, entry.language, source, self._cutting)
        if parsing is None:
            self._take(file_id, entry, source.sha256, file_rows(entry.path, entry.language, source, self._cutting))
            return file_id
        self._parsed.append((file_id, entry, source.sha256, parsing))
        while len(self._parsed) > self._processes.ahead:
            self._take_next()
        return file_id

    def _take_next(self) -> None:
        file_id, entry, sha256, parsing = self._parsed.popleft()
        self._take(file_id, entry, sha256, self._processes.rows_of(parsing))

    def _take(self, file_id: int, entry: FileEntry, sha256: str, found: FileRows) -> None:
        """Collect the rows of a file under their ids."""
        known = (file_id, entry.path, entry.size, entry.mtime_ns, sha256)
        self._rows["files"].append((*known, found.language, found.lines, found.status, found.note))
        first, chunk, passage = self._next_symbol, self._next_chunk, self._next_passage
        self._next_symbol += len(found.symbols)
        self._next_chunk += len(found.chunks)
        self._next_passage += len(found.passages)

        def symbol_id(position: int | None) -> int | None:
            return None if position is None else first + position

        self._rows["symbols"].extend(
            (first + place, file_id, *symbol[:-1], symbol_id(symbol[-1])) for place, symbol in enumerate(found.symbols)
        )
        self._rows["refs"].extend((file_id, *row[:-1], symbol_id(row[-1])) for row in found.references)
        self._rows["imports"].extend((file_id, *row) for row in found.imports)
        if found.facts is not None:
            self._rows["facts"].append((file_id, *found.facts))
        self._rows["chunks"].extend(
            (number, file_id, start, end, symbol_id(symbol), key)
            for number, (start, end, symbol, key) in enumerate(found.chunks, chunk)
        )
        self._rows["chunk_text"].extend((number, *row) for number, row in enumerate(found.chunk_texts, chunk))
        self._rows["passages"].extend((number, file_id, *row) for number, row in enumerate(found.passages, passage))
        self._rows["passage_text"].extend((number, *row) for number, row in enumerate(found.passage_texts, passage))
        if len(self._rows["refs"]) + len(self._rows["chunk_text"]) > _ROWS_PER_FLUSH:
            self._write()

    def touch(self, file_id: int, entry: FileEntry) -> None:
        """Update the size and time of a file whose content is unchanged."""
        self._connection.execute(
            "UPDATE files SET size = ?, mtime_ns = ? WHERE id = ?", (entry.size, entry.mtime_ns, file_id)
        )

    def remove(self, file_id: int) -> None:
        """Remove a file and all its rows from the index."""
        self._connection.execute(
            "DELETE FROM chunk_text WHERE rowid IN (SELECT id FROM chunks WHERE file_id = ?)", (file_id,)
        )
        self._connection.execute(
            "DELETE FROM passage_text WHERE rowid IN (SELECT id FROM passages WHERE file_id = ?)", (file_id,)
        )
        for table in ("passages", "chunks", "chunk_vectors", "imports", "refs", "facts", "symbols"):
            self._connection.execute(f"DELETE FROM {table} WHERE file_id = ?", (file_id,))
        self._connection.execute("DELETE FROM files WHERE id = ?", (file_id,))

    def flush(self) -> None:
        """Wait for the files that are being parsed, and write the collected rows."""
        while self._parsed:
            self._take_next()
        self._write()

    def _write(self) -> None:
        self._rows["chunk_vectors"] = _vectors(self._rows["chunks"], self._rows["chunk_text"])
        for table, rows in self._rows.items():
            if rows:
                self._connection.executemany(_INSERTS[table], rows)
                rows.clear()


def _vectors(chunks: Sequence[tuple[Any, ...]], texts: Sequence[tuple[Any, ...]]) -> list[tuple[int, int, bytes]]:
    """Return for each file its id, the id of its first chunk, and the vectors of its chunks, which are consecutive."""
    from runtime.codebase.term_meaning.term_vectors import term_vectors

    kept = term_vectors().of_pieces([text[1:] for text in texts])
    own = itertools.groupby(zip(chunks, kept, strict=True), key=lambda pair: pair[0][1])
    files = [(file_id, list(pairs)) for file_id, pairs in own]
    return [(file_id, pairs[0][0][0], b"".join(row.tobytes() for _, row in pairs)) for file_id, pairs in files]


def _next_id(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0])


def readable_paths(connection: sqlite3.Connection) -> list[str]:
    """Return the paths of the files whose content is in the index, in order."""
    return [path for (path,) in connection.execute("SELECT path FROM files WHERE status != 'skipped' ORDER BY path")]


def import_resolver(root: Path, paths: Collection[str]) -> ImportResolver:
    """Return a resolver for the imports among the files with these paths."""
    return ImportResolver(paths, root.name, declared_modules(root, paths), rooted_packages(root, paths))


def declared_modules(root: Path, paths: Collection[str]) -> dict[str, dict[str, str]]:
    """Read the module names that files such as `go.mod` declare, by language and by the folder of the file."""
    modules: dict[str, dict[str, str]] = {}
    for record, folder, text in _declarations(root, paths):
        declared = record.module_declaration[1].search(text) if record.module_declaration else None
        if declared:
            modules.setdefault(record.name, {})[folder] = declared.group(1)
    return modules


def rooted_packages(root: Path, paths: Collection[str]) -> dict[str, frozenset[str]]:
    """Return by language the folders of the packages in which paths begin at the root of the package."""
    found: dict[str, frozenset[str]] = {}
    for record, folder, text in _declarations(root, paths):
        if record.begins_paths_at_root is not None and record.begins_paths_at_root(text):
            found[record.name] = found.get(record.name, frozenset()) | {folder}
    return found


def _declarations(root: Path, paths: Collection[str]) -> Iterator[tuple[Language, str, str]]:
    """Yield the folder and the text of each file that declares a module of a language."""
    for record in languages().values():
        name = record.module_declaration[0] if record.module_declaration else ""
        for path in paths if name else ():
            if path == name or path.endswith("/" + name):
                source = try_read_source(root, path)
                if source is not None:
                    yield record, path.removesuffix(name).rstrip("/"), source.text


def resolve_imports(connection: sqlite3.Connection, resolver: ImportResolver, file_ids: list[int] | None) -> None:
    """Set the targets of the imports of the given files, or of all files if `file_ids` is None."""
    query = (
        "SELECT i.rowid, f.path, f.language, i.module, i.name, i.target FROM imports i JOIN files f ON f.id = i.file_id"
    )
    if file_ids is None:
        rows = connection.execute(query).fetchall()
    else:
        rows = [row for one in file_ids for row in connection.execute(query + " WHERE i.file_id = ?", (one,))]
    changed = []
    for rowid, path, language, module, name, target in rows:
        resolved = resolver.resolve(path, language, module, name)
        if resolved != target:
            changed.append((resolved, rowid))
    connection.executemany("UPDATE imports SET target = ? WHERE rowid = ?", changed)
