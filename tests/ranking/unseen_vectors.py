"""Lets weights be learned from repositories whose questions the vectors of terms have not seen.

Vectors are more like the questions that taught them than they are like others: weights that were learned from the same
would trust them too much. So the repositories are dealt into three parts, and vectors are trained three times, each
time without one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from runtime.codebase.index.chunk_vectors import ChunkVectors
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.term_meaning.term_vectors import TermVectors, read_from
from tests.ranking.cases import Case

PARTS = 3


def part_of(repository: str, cases: Sequence[Case]) -> int | None:
    """Return the part that a repository belongs to; None for one that teaches no vectors."""
    taught = sorted({case.repo for case in cases})
    return taught.index(repository) % PARTS if repository in taught else None


def vectors_without(part: int, folder: Path) -> TermVectors:
    """Read the vectors that were trained without a part. FileNotFoundError if they were not."""
    return read_from(folder / f"without_{part}.npz")


class _WithVectors:
    """Answers as an index does, but for the vectors of its chunks."""

    def __init__(self, index: IndexReader, vectors: ChunkVectors) -> None:
        self._index = index
        self._vectors = vectors

    def chunk_vectors(self) -> ChunkVectors:
        return self._vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


def with_vectors(index: IndexReader, by: TermVectors) -> IndexReader:
    """Return an index whose chunks have other vectors."""
    numbers = [number for (number,) in index.rows("SELECT id FROM chunks ORDER BY id")]
    texts = index.chunk_texts(numbers)
    vectors = ChunkVectors(np.array(numbers), by.of_pieces([texts[number] for number in numbers]), by)
    return cast(IndexReader, _WithVectors(index, vectors))
