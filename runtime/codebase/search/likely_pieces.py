"""Chooses the pieces that a question turns on, by words, so that they are embedded before all others.

Twenty chunks and thirty passages bring answers half of what the vectors of all pieces do (docs/ranking.md): passages
are short, and say in the question's own kind of words what the code around them is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.gathering import gather, is_compared
from runtime.codebase.search.prose.passages import MAX_QUERY_CHARS, rank_passages, term_weights
from runtime.codebase.semantics.piece_order import Piece, pieces_in_order

MAX_CHUNKS = 20
MAX_PASSAGES = 30
# So few take hardly longer than the likely ones, and a second answer is then no other than the first.
MAX_ALL = 64

_CHUNK_KEYS = "SELECT id, key FROM chunks WHERE id IN ({marks})"
_PASSAGE_KEYS = "SELECT id, key FROM passages WHERE id IN ({marks})"


def first_pieces(index: IndexReader, question: str) -> list[Piece]:
    """Return the likely pieces and, in a repository of at most 64, all others behind them."""
    likely = likely_pieces(index, question)
    if index.piece_count() > MAX_ALL:
        return likely
    return list(dict.fromkeys((*likely, *pieces_in_order(index))))


def likely_pieces(index: IndexReader, question: str) -> list[Piece]:
    """Return the chunks, and then the passages, that fit a question best by words."""
    return [*_chunks(index, question), *_passages(index, question)]


def _chunks(index: IndexReader, question: str) -> list[Piece]:
    gathered = gather(index, question)
    if gathered is None:
        return []
    kinds = gathered.asked.kinds
    hits = {
        candidate.words.chunk_id: candidate.words.hit
        for candidate in gathered.candidates
        if is_compared(kinds, candidate.words.hit.file, candidate.words.hit.symbol)
    }
    first = list(hits)[:MAX_CHUNKS]
    keys = _keys(index, _CHUNK_KEYS, first)
    return [
        Piece(hit.file, hit.start_line, hit.end_line, hit.symbol or "", keys[number], False)
        for number, hit in ((number, hits[number]) for number in first)
        if number in keys
    ]


def _passages(index: IndexReader, question: str) -> list[Piece]:
    weights = term_weights(index, question[:MAX_QUERY_CHARS])
    ranked = [passage for passage, _ in rank_passages(index, question, weights, None)[:MAX_PASSAGES]]
    keys = _keys(index, _PASSAGE_KEYS, [passage.id for passage in ranked])
    return [
        Piece(passage.file, passage.start_line, passage.end_line, passage.heading, keys[passage.id], True)
        for passage in ranked
        if passage.id in keys
    ]


def _keys(index: IndexReader, query: str, numbers: Sequence[int]) -> dict[int, bytes]:
    if not numbers:
        return {}
    return dict(index.rows(query.format(marks=", ".join("?" * len(numbers))), list(numbers)))
