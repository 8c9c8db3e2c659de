"""Makes the rows of one file: pure, so that several processes may do it for different files.

The rows have no ids yet, since only the writer of the index gives these out: symbols are told by their positions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from runtime.codebase.files.path_kinds import is_listed_only
from runtime.codebase.files.project_config import ProjectConfig
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.piece_text import passage_text, piece_key, piece_text
from runtime.codebase.language_parts.type_facts import encoded
from runtime.codebase.language_registry import language_named, language_of_content
from runtime.codebase.parsing.chunks import CHARS_PER_TOKEN, COMMENT_MARKS, Chunk, ChunkSize, cut
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.passages import PassageSpan, cut_passages, plain_text
from runtime.codebase.parsing.syntax import FileSyntax
from runtime.codebase.parsing.text_symbols import extract_text

MAX_CHUNK_CHARS = 20_000
MAX_LINE_CHARS_OF_CODE = 20_000

Row = tuple[Any, ...]


class Cutting(NamedTuple):
    """Says how a project wants its files cut into pieces: their size, and whether along definitions."""

    size: ChunkSize
    by_symbols: bool

    @classmethod
    def of(cls, project: ProjectConfig) -> Cutting:
        """Return how a project wants it."""
        tokens = project.chunk_max_tokens
        size = ChunkSize(chars=None if tokens is None else tokens * CHARS_PER_TOKEN)
        return cls(size, project.chunk_strategy == "syntax")


class FileRows(NamedTuple):
    """Holds what the index says of one file, in the order of its tables.

    `symbols`, ending with the position of the symbol around; `references`, ending with that of the symbol they are in;
    `chunks`, with that of their symbol; `chunk_texts` and `passage_texts` belong to these in order.
    """

    language: str | None
    lines: int
    status: str
    note: str
    symbols: list[Row]
    references: list[Row]
    imports: list[Row]
    facts: Row | None
    chunks: list[Row]
    chunk_texts: list[Row]
    passages: list[Row]
    passage_texts: list[Row]


def file_rows(
    path: str, walked_language: str | None, source: SourceText, cutting: Cutting, *, unparsed: str | None = None
) -> FileRows:
    """Parse a file and return its rows; `walked_language` is the one that its name tells.

    `unparsed`: why it is not to be parsed but read as text.
    """
    lines = source.lines
    language = language_of_content(path, walked_language, source.text)
    if unparsed is None:
        syntax = _parse(source, lines, path, language)
    else:
        syntax = extract_text(lines, language)._replace(status="failed", note=unparsed)
    chunks: tuple[list[Row], list[Row]] = ([], [])
    passages: tuple[list[Row], list[Row]] = ([], [])
    if not is_listed_only(path):
        known = language_named(language)
        is_data = known.role == "data" or syntax.note == _MINIFIED
        marks, symbols = known.comment_marks, syntax.symbols if cutting.by_symbols else ()
        pieces = cut(lines, symbols, is_data=is_data, comment_marks=marks, size=cutting.size)
        chunks = _chunks(path, lines, syntax, pieces, _comment_lines(marks))
        if not is_data:
            spans = cut_passages(path, lines, syntax, is_prose=known.role == "prose", comment_marks=marks)
            passages = _passages(path, lines, spans)
    return FileRows(
        language,
        len(lines),
        syntax.status,
        "; ".join(part for part in (source.note, syntax.note) if part),
        [tuple(symbol) for symbol in syntax.symbols],
        [(line, name, kind, qualifier, enclosing) for name, line, kind, qualifier, enclosing in syntax.references],
        [(line, module, name, alias) for module, name, alias, line in syntax.imports],
        None if syntax.facts is None else (syntax.facts.package, encoded(syntax.facts)),
        *chunks,
        *passages,
    )


def _chunks(
    path: str, lines: Sequence[str], syntax: FileSyntax, chunks: Iterable[Chunk], comments: re.Pattern[str]
) -> tuple[list[Row], list[Row]]:
    path_terms = index_terms(path.rpartition(".")[0] or path)
    doc_lines = {line for start, end in syntax.doc_ranges for line in range(start, end + 1)}
    rows: list[Row] = []
    texts: list[Row] = []
    for start, end, symbol in chunks:
        text = "\n".join(lines[start - 1 : end])[:MAX_CHUNK_CHARS]
        names = "" if symbol is None else syntax.symbols[symbol].qualified_name
        doc = "\n".join(comments.findall(text))
        if doc_lines:
            doc += "\n" + "\n".join(lines[line - 1] for line in range(start, end + 1) if line in doc_lines)
        rows.append((start, end, symbol, piece_key(piece_text(path, names, lines[start - 1 : end]))))
        texts.append((index_terms(text), index_terms(names), path_terms, index_terms(doc[:MAX_CHUNK_CHARS])))
    return rows, texts


def _passages(path: str, lines: Sequence[str], spans: Iterable[PassageSpan]) -> tuple[list[Row], list[Row]]:
    path_terms = index_terms(path.rpartition(".")[0] or path)
    rows: list[Row] = []
    texts: list[Row] = []
    for kind, start, end, heading, names in spans:
        text = plain_text(lines[start - 1 : end])
        rows.append((kind, start, end, heading, "\n".join(names), piece_key(passage_text(path, heading, text))))
        texts.append((index_terms(text[:MAX_CHUNK_CHARS]), f"{index_terms(heading)} {path_terms}"))
    return rows, texts


_MINIFIED = "minified or generated: lines too long to parse"


@functools.cache
def _comment_lines(own_marks: str) -> re.Pattern[str]:
    marks = "|".join(map(re.escape, (*COMMENT_MARKS, *own_marks.split())))
    return re.compile(rf"^[ \t]*(?:{marks}).*$", re.MULTILINE)


def _parse(source: SourceText, lines: Sequence[str], path: str, language: str | None) -> FileSyntax:
    if language_named(language).grammar is not None and max(map(len, lines), default=0) > MAX_LINE_CHARS_OF_CODE:
        return parse(source, path, None)._replace(note=_MINIFIED)
    return parse(source, path, language)
