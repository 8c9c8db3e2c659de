"""Orders the pieces of an index for embedding: touched files, their folders, then by kind of file.

Others' code that a repository carries along and code that a program has written are left out: no question is compared
with them unless it asks for them, and then those that its words find get vectors at once.
"""

from __future__ import annotations

import posixpath
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.piece_text import passage_text, piece_text
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.passages import plain_text

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
# They have their turn only in a repository without a source file of its own.
_LEFT_OUT: frozenset[PathKind] = frozenset({"vendored", "generated"})


class Piece(NamedTuple):
    """Locates a chunk or a passage of a file whose vector has a key; `symbol`: the heading of a passage."""

    file: str
    start_line: int
    end_line: int
    symbol: str
    key: bytes
    is_passage: bool

    def text(self, lines: Sequence[str]) -> str:
        """Return the text from which its vector is made; `lines`: those of its file."""
        own = lines[self.start_line - 1 : self.end_line]
        if self.is_passage:
            return passage_text(self.file, self.symbol, plain_text(own))
        return piece_text(self.file, self.symbol, own)


_PIECES = """SELECT f.path, c.start_line, c.end_line, coalesce(s.qualified_name, ''), c.key, 0, f.mtime_ns FROM chunks c
    JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id
    UNION ALL SELECT f.path, p.start_line, p.end_line, p.heading, p.key, 1, f.mtime_ns FROM passages p
    JOIN files f ON f.id = p.file_id ORDER BY 1, 2, 3, 6, 4"""


def pieces_in_order(index: IndexReader) -> list[Piece]:
    """Return the pieces of an index in the order in which they are to be embedded; those of a file stay together."""
    left_out = paths_left_out(index)
    rows = [row for row in index.rows(_PIECES) if row[0] not in left_out]
    changed = {row[0]: row[6] for row in rows}
    touched = touched_files(changed)
    near = {posixpath.dirname(path) for path in touched}
    turns = {
        path: (touched.get(path, len(touched)), posixpath.dirname(path) not in near, _TURN[kind_of_path(path)])
        for path in changed
    }
    ordered = sorted(rows, key=lambda row: turns[row[0]])
    return [Piece(path, start, end, symbol, key, bool(flag)) for path, start, end, symbol, key, flag, _ in ordered]


def paths_left_out(index: IndexReader) -> dict[str, int]:
    """Return the ids of the files whose pieces get no vector before they are asked for: path → id.

    None of a repository without a source file of its own, such as the folder of an installed package.
    """
    kinds = {path: (kind_of_path(path), number) for path, number in index.rows("SELECT path, id FROM files")}
    if all(kind != "source" for kind, _ in kinds.values()):
        return {}
    return {path: number for path, (kind, number) in kinds.items() if kind in _LEFT_OUT}


def touched_files(changed_ns: dict[str, int]) -> dict[str, int]:
    """Return the files changed at least a minute after most others, the latest first, each with its place."""
    if not changed_ns:
        return {}
    since_ns = statistics.median_low(changed_ns.values()) + TOUCHED_AFTER_NS
    later: Sequence[str] = sorted(
        (path for path, at_ns in changed_ns.items() if at_ns > since_ns), key=lambda path: (-changed_ns[path], path)
    )
    return {path: place for place, path in enumerate(later[:MAX_TOUCHED_FILES])}
