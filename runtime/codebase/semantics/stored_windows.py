"""Finds the chunks of an index by their further windows in a vector store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import MAX_FURTHER_WINDOWS, Vectors
from runtime.codebase.semantics.forest_entries import OpenPieces
from runtime.codebase.semantics.further_windows import window_rows
from runtime.codebase.semantics.piece_vectors import Near
from runtime.codebase.semantics.stored_pieces import StoredPieces
from runtime.codebase.semantics.vector_cache import VectorCache


class StoredWindows:
    """Compares the further windows of one index with vectors; one object serves several threads."""

    def __init__(self, cache: VectorCache, opened: OpenPieces) -> None:
        """Create it without opening anything. `cache`: tells which windows the chunks have."""
        self._windows = StoredPieces(cache, opened, lambda index: window_rows(index, cache))

    def nearest(
        self, index: IndexReader, query: Vectors, limit: int, *, files: Sequence[int] | None, until: int | None
    ) -> list[Near]:
        """Return the chunks whose best window is nearest to a vector, best first; `files`: those to look in."""
        # A chunk may be found by each of its windows.
        most = limit * MAX_FURTHER_WINDOWS
        return best_of(self._windows.nearest(index, query, most, passages=False, files=files, until=until))[:limit]

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None
    ) -> dict[int, float]:
        """Return the cosine of the best window of each chunk that has one."""
        return self._windows.cosines(index, query, chunk_ids, until=until)

    def close(self) -> None:
        """Release the files of the store."""
        self._windows.close()


def best_of(found: Iterable[Near]) -> list[Near]:
    """Return each piece once, with its best cosine, best first."""
    best: dict[int, float] = {}
    for piece in found:
        best[piece.id] = max(piece.cosine, best.get(piece.id, piece.cosine))
    return [Near(number, cosine) for number, cosine in sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))]
