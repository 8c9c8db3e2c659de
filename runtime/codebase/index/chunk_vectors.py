"""Reads the vectors of all chunks of an index, made of their terms, and compares them with a question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.term_meaning.table_file import term_vectors_mark
from runtime.codebase.term_meaning.term_vectors import KeptRows, TermVectors, cosines, term_vectors

_VECTORS = "SELECT chunk_id, vectors FROM chunk_vectors ORDER BY chunk_id"
_MADE_BY = "SELECT value FROM meta WHERE key = 'term_vectors'"


class Rows(Protocol):
    """Reads rows by SQL."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        ...


class Likeness:
    """Tells how like one question the chunks of an index are, by their terms."""

    def __init__(self, ids: NDArray[np.int64], found: NDArray[np.float32]) -> None:
        self._ids = ids
        self._found = found

    def nearest(self, limit: int) -> list[tuple[int, float]]:
        """Return the ids and cosines of the nearest chunks, best first, equal ones by id."""
        most = min(limit, len(self._found))
        if most < 1:
            return []
        near = np.argpartition(-self._found, most - 1)[:most]
        order = near[np.lexsort((self._ids[near], -self._found[near]))]
        return list(zip(self._ids[order].tolist(), self._found[order].tolist(), strict=True))

    def of(self, chunk_ids: Collection[int]) -> dict[int, float]:
        """Return the cosine of each of the chunks."""
        wanted = np.fromiter(chunk_ids, np.int64, len(chunk_ids))
        places = np.searchsorted(self._ids, wanted).clip(max=max(len(self._ids) - 1, 0))
        return {
            int(number): float(self._found[place])
            for number, place in zip(wanted, places, strict=True)
            if len(self._ids) and self._ids[place] == number
        }


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Holds the ids of all chunks, ascending, a kept row for each, and what made these."""

    ids: NDArray[np.int64]
    kept: KeptRows
    by: TermVectors

    def likeness(self, counts: Mapping[str, int]) -> Likeness | None:
        """Compare all chunks with a question, given by the occurrences of its terms; None if no term is known."""
        question = self.by.of_question(counts)
        return None if question is None else Likeness(self.ids, cosines(self.kept, question))


def chunk_vectors(index: Rows) -> ChunkVectors:
    """Read the vectors of all chunks; those of another table compare with nothing, and are left out."""
    by = term_vectors()
    is_same = index.rows(_MADE_BY) == [(term_vectors_mark(),)]
    rows = index.rows(_VECTORS) if is_same else []
    kept = np.frombuffer(b"".join(vectors for _, vectors in rows), np.int8).reshape(-1, by.size)
    counts = np.array([len(vectors) // by.size for _, vectors in rows], np.int64)
    firsts = np.array([first for first, _ in rows], np.int64)
    # Chunks of a file have consecutive ids.
    within = np.arange(len(kept)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ChunkVectors(np.repeat(firsts, counts) + within, kept, by)
