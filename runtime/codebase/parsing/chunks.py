"""Cuts a file into the chunks that are searched and cited: along its syntax, at most 60 lines each.

A function is one chunk, together with the comment above it; a small class is one, a larger one becomes its header and
its members; a section of a document is one. Lines between definitions make chunks of their own, and anything longer
than the limit is cut at the nearest blank line before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol

MAX_CHUNK_LINES = 60
WHOLE_CONTAINER_LINES = 12
MAX_DATA_LINES = 600
# A token of source text has about as many for the sentence model; to count them exactly takes as long as to parse.
CHARS_PER_TOKEN = 4
_LEADING_LINES = 12
_LEAST_WINDOW_LINES = 20
# Markers that open a comment line in most languages.
COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";;")

_CHUNKED_KINDS: frozenset[str] = (CONTAINER_KINDS | CALLABLE_KINDS | {"section"}) - {"namespace"}


class ChunkSize(NamedTuple):
    """Holds the limits of a chunk; a single line is never cut."""

    lines: int = MAX_CHUNK_LINES
    chars: int | None = None


_USUAL_SIZE = ChunkSize()


class Chunk(NamedTuple):
    """Spans lines `start_line` to `end_line` (inclusive); `symbol` is the position of their symbol, if any."""

    start_line: int
    end_line: int
    symbol: int | None


def cut(
    lines: Sequence[str],
    symbols: Sequence[Symbol],
    *,
    is_data: bool = False,
    comment_marks: str = "",
    size: ChunkSize = _USUAL_SIZE,
) -> list[Chunk]:
    """Cut a file into ordered chunks that never overlap; only lines without a word (blanks, brackets) are left out.

    Only the first 600 lines of a data file (JSON, CSV …) are cut, the rest is left to text search. `comment_marks`:
    comment markers of this language beyond the common ones, separated by blanks.
    """
    if is_data:
        return list(_windows(lines, size, 1, min(len(lines), MAX_DATA_LINES), None))
    children: dict[int | None, list[int]] = {}
    for index, symbol in enumerate(symbols):
        if symbol.kind in _CHUNKED_KINDS and not _is_whole_file(symbol, index, lines):
            children.setdefault(_chunked_parent(symbols, symbol, lines), []).append(index)
    marks = (*COMMENT_MARKS, "@", *comment_marks.split())
    return list(_cut_range(lines, size, symbols, children, marks, 1, len(lines), None))


def _is_whole_file(symbol: Symbol, index: int, lines: Sequence[str]) -> bool:
    return index == 0 and symbol.kind == "module" and symbol.start_line == 1 and symbol.end_line >= len(lines)


def _chunked_parent(symbols: Sequence[Symbol], symbol: Symbol, lines: Sequence[str]) -> int | None:
    parent = symbol.parent
    while parent is not None:
        holder = symbols[parent]
        if holder.kind in _CHUNKED_KINDS and not _is_whole_file(holder, parent, lines):
            return parent
        parent = holder.parent
    return None


def _cut_range(
    lines: Sequence[str],
    size: ChunkSize,
    symbols: Sequence[Symbol],
    children: dict[int | None, list[int]],
    marks: tuple[str, ...],
    start: int,
    end: int,
    owner: int | None,
) -> Iterator[Chunk]:
    at = start
    inner = sorted(children.get(owner, ()), key=lambda index: symbols[index].start_line)
    for index in inner:
        symbol = symbols[index]
        first, last = max(symbol.start_line, at), min(symbol.end_line, end)
        if last < first:
            continue
        leading = _leading_comment(lines, marks, at, first)
        yield from _windows(lines, size, at, leading - 1, owner)
        is_leaf = symbol.kind in CALLABLE_KINDS or index not in children
        if is_leaf or last - leading < WHOLE_CONTAINER_LINES:
            yield from _windows(lines, size, leading, last, index)
        else:
            yield from _cut_range(lines, size, symbols, children, marks, leading, last, index)
        at = last + 1
    yield from _windows(lines, size, at, end, owner)


def _leading_comment(lines: Sequence[str], marks: tuple[str, ...], floor: int, first: int) -> int:
    """Return the line at which the comment block directly above `first` begins, not before `floor`."""
    at = first
    while at > floor and first - at < _LEADING_LINES and lines[at - 2].lstrip().startswith(marks):
        at -= 1
    return at


def _windows(lines: Sequence[str], size: ChunkSize, start: int, end: int, symbol: int | None) -> Iterator[Chunk]:
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    while (most := _fitting(lines, size, start, end)) < end:
        last = _break_before(lines, start, most)
        if _has_words(lines, start, last):
            yield Chunk(start, last, symbol)
        start = last + 1
        while start <= end and not lines[start - 1].strip():
            start += 1
    if _has_words(lines, start, end):
        yield Chunk(start, end, symbol)


def _fitting(lines: Sequence[str], size: ChunkSize, start: int, end: int) -> int:
    """Return the last line of the longest chunk from `start` on that keeps to the limits, `start` at least."""
    most = min(end, start + size.lines - 1)
    if size.chars is None:
        return most
    chars = 0
    for line in range(start, most + 1):
        chars += len(lines[line - 1]) + 1
        if chars > size.chars and line > start:
            return line - 1
    return most


def _has_words(lines: Sequence[str], start: int, end: int) -> bool:
    return any(character.isalnum() for line in lines[start - 1 : end] for character in line)


def _break_before(lines: Sequence[str], start: int, last: int) -> int:
    """Return the last line of a window: the one before a blank line, if the later part has one, or else `last`."""
    for line in range(last, start + _LEAST_WINDOW_LINES - 1, -1):
        if not lines[line].strip():
            return line
    return last
