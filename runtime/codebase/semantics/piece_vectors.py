"""Holds the vectors of the pieces of one index in memory, and finds the pieces nearest to a question."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.packing import Integers, unpack_parts
from runtime.codebase.semantics.piece_order import paths_left_out
from runtime.codebase.semantics.vector_cache import Packed, VectorCache

# Multiplied at once: as float32 they stay in the processor's cache, and are too few for numpy to start threads, which
# would take 15 times the processor time.
_ROWS_AT_ONCE = 512
# Beyond as many new vectors of all repositories, those of this index are looked up by their keys.
_MANY_NEW = 20_000


class Near(NamedTuple):
    """Pairs a piece with the cosine of its vector and the question's, -1 to 1; `id`: of a chunk, or of a passage."""

    id: int
    cosine: float


class VectorCount(NamedTuple):
    """Counts the pieces that are to have a vector: those whose vector counts or that can get none, and all."""

    ready: int
    pieces: int

    @property
    def share(self) -> float:
        """The share of the pieces that are ready, 0 to 1; 1 for an index without pieces."""
        return self.ready / self.pieces if self.pieces else 1.0


# The ids of passages are negative, so that all pieces have different ones.
_PIECES = "SELECT id, file_id, key FROM chunks UNION ALL SELECT -id, file_id, key FROM passages"


def piece_rows(index: IndexReader) -> Sequence[tuple[Any, ...]]:
    """Return the id, the id of the file and the key of the vector of every piece."""
    return index.rows(_PIECES)


class PieceSearch(Protocol):
    """Compares the pieces of one index with vectors; `until`: the number of the last addition that counts."""

    def newest(self, index: IndexReader) -> int:
        """Return the number of the last addition; 0 if nothing can be compared."""
        ...

    def counted(self, index: IndexReader, until: int | None = None) -> VectorCount:
        """Count the pieces that can be compared or can get no vector, and all."""
        ...

    def nearest(
        self,
        index: IndexReader,
        query: Vectors,
        limit: int,
        *,
        passages: bool,
        files: Sequence[int] | None = None,
        until: int | None = None,
    ) -> list[Near]:
        """Return the passages, or the chunks, nearest to a vector, best first; `files`: the ids of those to look in."""
        ...

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None = None
    ) -> dict[int, float]:
        """Return the cosine of each chunk and a vector; chunks that cannot be compared are left out."""
        ...

    def fault(self) -> str | None:
        """Return why nothing can be compared, if that is because of a fault."""
        ...

    def close(self) -> None:
        """Release files."""
        ...


class PieceVectors:
    """Keeps what vectors there are up to date with an index and the cache; one object serves several threads."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self._guard = threading.Lock()
        self._generation: str | None = None
        self._last_id = 0
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._files: NDArray[np.int64] = np.zeros(0, np.int64)
        self._scales: NDArray[np.float32] = np.zeros(0, np.float32)
        self._numbers: Integers = np.zeros((0, DIMENSIONS), np.int8)
        # The ids of the vectors, 0 for pieces without one.
        self._added: NDArray[np.int64] = np.zeros(0, np.int64)
        # Where a vector is to be made; others have one once they were asked for.
        self._wanted: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._missing: dict[bytes, list[int]] = {}
        # The cosines of the last question: its chunks and its passages are asked for one after the other.
        self._compared: tuple[tuple[str | None, int, bytes], Vectors] = ((None, 0, b""), np.zeros(0, np.float32))

    def newest(self, index: IndexReader) -> int:
        """Return the id of the vector that was made last, of any repository."""
        return self._cache.newest_id()

    def fault(self) -> str | None:
        """Return None: a cache that cannot be read is made anew."""
        return None

    def close(self) -> None:
        """Do nothing: the cache belongs to its opener."""

    def counted(self, index: IndexReader, until: int | None = None) -> VectorCount:
        """Count the pieces that have a vector or can get none, and all, without those that are left out.

        `until`: the id of the last vector that counts.
        """
        with self._guard:
            self._update(index)
            ready = np.count_nonzero(usable(self._added, until) & self._wanted)
            return VectorCount(int(ready), int(np.count_nonzero(self._wanted)))

    def nearest(
        self,
        index: IndexReader,
        query: Vectors,
        limit: int,
        *,
        passages: bool,
        files: Sequence[int] | None = None,
        until: int | None = None,
    ) -> list[Near]:
        """Return the passages, or the chunks, nearest to a vector, best first.

        `files`: the ids of the files to look in, None for all. `until`: the id of the last vector that counts.
        """
        with self._guard:
            self._update(index)
            ids, own_files, scales, numbers = self._ids, self._files, self._scales, self._numbers
            added = self._added
            state = (self._generation, self._last_id, query.tobytes())
            known, cosines = self._compared
        if known != state:
            cosines = cosines_of(numbers, scales, query)
            with self._guard:
                self._compared = (state, cosines)
        compared = (scales > 0) & ((ids < 0) == passages) & usable(added, until)
        if files is not None:
            compared &= np.isin(own_files, np.asarray(files, np.int64))
        places = np.flatnonzero(compared)
        if len(places) > limit:
            # Those at least as near as the last one that is asked for: sorting all would take several milliseconds.
            asked = cosines[places]
            places = places[asked >= np.partition(asked, -limit)[-limit]]
        best = places[np.lexsort((ids[places], -cosines[places]))[:limit]]
        return [Near(abs(int(ids[place])), float(cosines[place])) for place in best]

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None = None
    ) -> dict[int, float]:
        """Return the cosine of each chunk and a vector; chunks without a vector are left out."""
        with self._guard:
            self._update(index)
            ids, scales, numbers, added = self._ids, self._scales, self._numbers, self._added
        wanted = np.isin(ids, np.asarray(chunk_ids, np.int64))
        places = np.flatnonzero(wanted & (scales > 0) & usable(added, until))
        found = (numbers[places].astype(np.float32) @ query) * scales[places]
        return {int(ids[place]): float(cosine) for place, cosine in zip(places, found, strict=True)}

    def _update(self, index: IndexReader) -> None:
        generation = index.generation()
        if generation != self._generation:
            self._begin(index, generation)
        if not self._missing:
            return
        newest = self._cache.newest_id()
        if newest == self._last_id:
            return
        if newest - self._last_id > _MANY_NEW:
            self._add(self._cache.packed(list(self._missing)))
            self._last_id = newest
        else:
            found, self._last_id = self._cache.packed_after(self._last_id)
            self._add(found)

    def _begin(self, index: IndexReader, generation: str) -> None:
        rows = piece_rows(index)
        self._generation = generation
        self._last_id = self._cache.newest_id()
        self._ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        self._files = np.fromiter((row[1] for row in rows), np.int64, len(rows))
        self._scales = np.zeros(len(rows), np.float32)
        self._numbers = np.zeros((len(rows), DIMENSIONS), np.int8)
        self._added = np.zeros(len(rows), np.int64)
        self._wanted = ~np.isin(self._files, list(paths_left_out(index).values()))
        self._missing = {}
        for place, (_, _, key) in enumerate(rows):
            self._missing.setdefault(key, []).append(place)
        self._add(self._cache.packed(list(self._missing)))

    def _add(self, found: dict[bytes, Packed]) -> None:
        for key in found.keys() & self._missing.keys():
            scale, numbers = unpack_parts(found[key].data)
            for place in self._missing.pop(key):
                # The scale is set last: a search that has begun sees either no vector or all of it.
                self._numbers[place] = numbers
                self._added[place] = found[key].id
                self._scales[place] = scale


def usable(added: NDArray[np.int64], until: int | None) -> NDArray[np.bool_]:
    """Return where there is a vector, of those added no later than the one of an id if one is given."""
    return added > 0 if until is None else (added > 0) & (added <= until)


def cosines_of(numbers: Integers, scales: NDArray[np.float32], query: Vectors) -> Vectors:
    cosines = np.empty(len(numbers), np.float32)
    for at in range(0, len(numbers), _ROWS_AT_ONCE):
        rows = slice(at, at + _ROWS_AT_ONCE)
        cosines[rows] = (numbers[rows].astype(np.float32) @ query) * scales[rows]
    return cosines
