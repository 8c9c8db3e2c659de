"""Boosts chunks that the best-ranked chunks call, or are called by, within the same file.

A question is often answered not by the function that contains its words but by one that this function delegates to.
Such a chunk is raised, never above the chunk that led to it, so the order in which files appear does not change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.parsing.chunks import MAX_CHUNK_LINES
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.codebase.search.fusion import Scored

LEADING_PIECES = 5
# What a piece gains by a call, as a share of the score of the piece that led to it.
GAIN = 0.1
# A name that a file defines more often says too little about which definition is called.
MAX_SAME_NAME = 2

_OF_FILE = "JOIN files f ON f.id = {0}.file_id WHERE f.path = ?"
_DEFINITIONS = f"""SELECT s.id, s.name, s.qualified_name, s.start_line, s.end_line, s.name_line FROM symbols s
    {_OF_FILE.format("s")} AND s.kind IN ({", ".join(f"'{kind}'" for kind in sorted(CALLABLE_KINDS))})
    ORDER BY s.start_line, s.id"""
_CALLED_NAMES = f"""SELECT DISTINCT r.name FROM refs r {_OF_FILE.format("r")}
    AND r.line BETWEEN ? AND ? AND r.kind = 'call' ORDER BY r.line"""
_CALLERS = f"""SELECT DISTINCT r.symbol_id FROM refs r {_OF_FILE.format("r")}
    AND r.name = ? AND r.line NOT BETWEEN ? AND ? AND r.kind = 'call' ORDER BY r.line"""
_NAME_PARTS = re.compile(r"\.|::|#")


class _Definition(NamedTuple):
    id: int
    name: str
    qualified_name: str
    start_line: int
    end_line: int
    name_line: int


def raised_by_calls(index: IndexReader, ranked: Sequence[Scored]) -> list[Scored]:
    """Return the chunks, best first, after raising those that one of the first five calls or is called by.

    Only definitions in the same file count. A definition that the word search did not find is added.
    """
    if not ranked:
        return []
    places: dict[str, list[int]] = {}
    for at, (_, hit) in enumerate(ranked):
        places.setdefault(hit.file, []).append(at)
    pieces = [hit for _, hit in ranked]
    scores = [score for score, _ in ranked]
    least = min(scores)
    before, raised = list(scores), set[int]()
    for rank, (score, leading) in enumerate(ranked[:LEADING_PIECES]):
        for found in _linked(index, leading):
            own = places[leading.file]
            place = next((at for at in own if _holds(pieces[at], found.name_line)), None)
            if place is None:
                place = len(pieces)
                own.append(place)
                pieces.append(_piece_of(leading.file, found))
                before.append(least)
                scores.append(least)
            if place > rank:
                scores[place] = max(scores[place], min(score, before[place] + GAIN * score))
                raised.add(place)
    order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place in raised, place))
    return [(scores[place], pieces[place]) for place in order]


def _linked(index: IndexReader, leading: ChunkHit) -> list[_Definition]:
    """Return definitions outside of a chunk that it calls, then those that call the chunk's own symbol."""
    definitions = [_Definition(*row) for row in index.rows(_DEFINITIONS, (leading.file,))]
    outside = [found for found in definitions if not _overlaps(leading, found)]
    lines = (leading.start_line, leading.end_line)
    linked: list[_Definition] = []
    for (name,) in index.rows(_CALLED_NAMES, (leading.file, *lines)):
        same = [found for found in outside if found.name == name]
        linked += same if len(same) <= MAX_SAME_NAME else []
    if leading.symbol:
        own_name = _NAME_PARTS.split(leading.symbol)[-1]
        callers = {symbol_id for (symbol_id,) in index.rows(_CALLERS, (leading.file, own_name, *lines))}
        linked += [found for found in outside if found.id in callers]
    return list(dict.fromkeys(linked))


def _overlaps(piece: ChunkHit, found: _Definition) -> bool:
    return found.start_line <= piece.end_line and piece.start_line <= found.end_line


def _holds(piece: ChunkHit, line: int) -> bool:
    return piece.start_line <= line <= piece.end_line


def _piece_of(file: str, found: _Definition) -> ChunkHit:
    end = min(found.end_line, found.start_line + MAX_CHUNK_LINES - 1)
    return ChunkHit(file, found.start_line, end, found.qualified_name, 0.0, found.id, "symbol")
