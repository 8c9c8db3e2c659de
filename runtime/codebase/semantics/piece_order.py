"""Orders the pieces of an index for embedding: touched files first, then by kind of file."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.language_parts.language import PathKind

# Files changed later than most others by this much count as touched: a checkout writes all files within seconds.
TOUCHED_AFTER_NS = 60_000_000_000
MAX_TOUCHED_FILES = 300

_TURN: dict[PathKind, int] = {
    "source": 0,
    "docs": 0,
    "declaration": 2,
    "example": 2,
    "test": 2,
    "benchmark": 3,
    "changelog": 3,
    "data": 4,
    "translation": 4,
    "vendored": 5,
    "generated": 5,
}


class Piece(NamedTuple):
    """Locates a piece of a file whose vector has a key."""

    file: str
    start_line: int
    end_line: int
    symbol: str
    key: bytes


_PIECES = """SELECT f.path, c.start_line, c.end_line, coalesce(s.qualified_name, ''), c.key, f.mtime_ns FROM chunks c
    JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id ORDER BY f.path, c.start_line, c.id"""


def pieces_in_order(index: IndexReader) -> list[Piece]:
    """Return all pieces of an index in the order in which they are to be embedded; those of a file stay together."""
    rows = index.rows(_PIECES)
    changed = {row[0]: row[5] for row in rows}
    touched = touched_files(changed)
    turns = {path: (touched.get(path, len(touched)), _TURN[kind_of_path(path)]) for path in changed}
    return [Piece(*row[:5]) for row in sorted(rows, key=lambda row: turns[row[0]])]


def touched_files(changed_ns: dict[str, int]) -> dict[str, int]:
    """Return the files changed at least a minute after most others, the latest first, each with its place."""
    if not changed_ns:
        return {}
    since_ns = statistics.median_low(changed_ns.values()) + TOUCHED_AFTER_NS
    later: Sequence[str] = sorted(
        (path for path, at_ns in changed_ns.items() if at_ns > since_ns), key=lambda path: (-changed_ns[path], path)
    )
    return {path: place for place, path in enumerate(later[:MAX_TOUCHED_FILES])}
