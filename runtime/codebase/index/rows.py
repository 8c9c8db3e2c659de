"""Adds and removes the rows of files in the index.

`RowWriter` collects the rows of several files and writes them together; ids are allocated here, since there is no other
writer while a refresh holds the transaction.
"""

from __future__ import annotations

import functools
import itertools
import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.codebase.files.file_entry import FileEntry
from runtime.codebase.files.path_kinds import is_listed_only
from runtime.codebase.files.project_config import ProjectConfig
from runtime.codebase.files.source_text import SourceText, try_read_source
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.piece_text import passage_text, piece_key, piece_text
from runtime.codebase.language_parts.type_facts import encoded
from runtime.codebase.language_registry import language_named, language_of_content, languages
from runtime.codebase.parsing.chunks import CHARS_PER_TOKEN, COMMENT_MARKS, Chunk, ChunkSize, cut
from runtime.codebase.parsing.import_resolution import ImportResolver
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.passages import PassageSpan, cut_passages, plain_text
from runtime.codebase.parsing.syntax import FileSyntax

MAX_CHUNK_CHARS = 20_000
MAX_LINE_CHARS_OF_CODE = 20_000
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

    def __init__(self, connection: sqlite3.Connection, project: ProjectConfig) -> None:
        tokens = project.chunk_max_tokens
        self._size = ChunkSize(chars=None if tokens is None else tokens * CHARS_PER_TOKEN)
        self._cuts_symbols = project.chunk_strategy == "syntax"
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
        lines = source.lines
        language = language_of_content(entry.path, entry.language, source.text)
        syntax = _parse(source, lines, entry.path, language)
        note = "; ".join(part for part in (source.note, syntax.note) if part)
        self._rows["files"].append(
            (
                *(file_id, entry.path, entry.size, entry.mtime_ns, source.sha256),
                *(language, len(lines), syntax.status, note),
            )
        )
        first_symbol = self._add_syntax(file_id, syntax)
        if not is_listed_only(entry.path):
            known = language_named(language)
            is_data = known.role == "data" or syntax.note == _MINIFIED
            marks, symbols = known.comment_marks, syntax.symbols if self._cuts_symbols else ()
            chunks = cut(lines, symbols, is_data=is_data, comment_marks=marks, size=self._size)
            comments = _comment_lines(known.comment_marks)
            self._add_chunks(file_id, entry.path, lines, syntax, chunks, first_symbol, comments)
            if not is_data:
                spans = cut_passages(
                    entry.path, lines, syntax, is_prose=known.role == "prose", comment_marks=known.comment_marks
                )
                self._add_passages(file_id, entry.path, lines, spans)
        if len(self._rows["refs"]) + len(self._rows["chunk_text"]) > _ROWS_PER_FLUSH:
            self.flush()
        return file_id

    def _add_syntax(self, file_id: int, syntax: FileSyntax) -> int:
        first = self._next_symbol
        self._next_symbol += len(syntax.symbols)
        self._rows["symbols"].extend(
            (first + place, file_id, *symbol[:-1], None if symbol.parent is None else first + symbol.parent)
            for place, symbol in enumerate(syntax.symbols)
        )
        self._rows["refs"].extend(
            (file_id, line, name, kind, qualifier, None if enclosing is None else first + enclosing)
            for name, line, kind, qualifier, enclosing in syntax.references
        )
        self._rows["imports"].extend(
            (file_id, line, module, name, alias) for module, name, alias, line in syntax.imports
        )
        if syntax.facts is not None:
            self._rows["facts"].append((file_id, syntax.facts.package, encoded(syntax.facts)))
        return first

    def _add_chunks(
        self,
        file_id: int,
        path: str,
        lines: Sequence[str],
        syntax: FileSyntax,
        chunks: Iterable[Chunk],
        first_symbol: int,
        comments: re.Pattern[str],
    ) -> None:
        path_terms = index_terms(path.rpartition(".")[0] or path)
        doc_lines = {line for start, end in syntax.doc_ranges for line in range(start, end + 1)}
        for start, end, symbol in chunks:
            chunk_id = self._next_chunk
            self._next_chunk += 1
            text = "\n".join(lines[start - 1 : end])[:MAX_CHUNK_CHARS]
            names = "" if symbol is None else syntax.symbols[symbol].qualified_name
            doc = "\n".join(comments.findall(text))
            if doc_lines:
                doc += "\n" + "\n".join(lines[line - 1] for line in range(start, end + 1) if line in doc_lines)
            symbol_id = None if symbol is None else first_symbol + symbol
            key = piece_key(piece_text(path, names, lines[start - 1 : end]))
            self._rows["chunks"].append((chunk_id, file_id, start, end, symbol_id, key))
            row = (chunk_id, index_terms(text), index_terms(names), path_terms, index_terms(doc[:MAX_CHUNK_CHARS]))
            self._rows["chunk_text"].append(row)

    def _add_passages(self, file_id: int, path: str, lines: Sequence[str], spans: Iterable[PassageSpan]) -> None:
        path_terms = index_terms(path.rpartition(".")[0] or path)
        for kind, start, end, heading, names in spans:
            passage_id = self._next_passage
            self._next_passage += 1
            text = plain_text(lines[start - 1 : end])
            key = piece_key(passage_text(path, heading, text))
            self._rows["passages"].append((passage_id, file_id, kind, start, end, heading, "\n".join(names), key))
            self._rows["passage_text"].append(
                (passage_id, index_terms(text[:MAX_CHUNK_CHARS]), f"{index_terms(heading)} {path_terms}")
            )

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
        """Write the collected rows."""
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


_MINIFIED = "minified or generated: lines too long to parse"


@functools.cache
def _comment_lines(own_marks: str) -> re.Pattern[str]:
    marks = "|".join(map(re.escape, (*COMMENT_MARKS, *own_marks.split())))
    return re.compile(rf"^[ \t]*(?:{marks}).*$", re.MULTILINE)


def _parse(source: SourceText, lines: Sequence[str], path: str, language: str | None) -> FileSyntax:
    if language_named(language).grammar is not None and max(map(len, lines), default=0) > MAX_LINE_CHARS_OF_CODE:
        return parse(source, path, None)._replace(note=_MINIFIED)
    return parse(source, path, language)


def _next_id(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0])


def readable_paths(connection: sqlite3.Connection) -> list[str]:
    """Return the paths of the files whose content is in the index, in order."""
    return [path for (path,) in connection.execute("SELECT path FROM files WHERE status != 'skipped' ORDER BY path")]


def declared_modules(root: Path, paths: Collection[str]) -> dict[str, dict[str, str]]:
    """Read the module names that files such as `go.mod` declare, by language and by the folder of the file."""
    modules: dict[str, dict[str, str]] = {}
    for record in languages().values():
        if record.module_declaration is None:
            continue
        name, pattern = record.module_declaration
        for path in paths:
            if path != name and not path.endswith("/" + name):
                continue
            source = try_read_source(root, path)
            declared = pattern.search(source.text) if source else None
            if declared:
                modules.setdefault(record.name, {})[path.removesuffix(name).rstrip("/")] = declared.group(1)
    return modules


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
