"""Holds the vectors of the windows of one index, and finds the chunks nearest to a question.

A chunk is as near as the nearest of its windows. Those made while questions are asked are added to what is held.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.further_windows import list_key
from runtime.codebase.semantics.packing import Integers, unpack_parts
from runtime.codebase.semantics.piece_vectors import Near, cosines_of, usable
from runtime.codebase.semantics.vector_cache import VectorCache, WindowList

# Beyond as many new vectors of all repositories, the lists of this index are looked up by their keys.
_MANY_NEW = 20_000


class WindowSearch(Protocol):
    """Compares the further windows of one index with vectors; `until`: the number of the last addition that counts."""

    def nearest(
        self, index: IndexReader, query: Vectors, limit: int, *, files: Sequence[int] | None, until: int | None
    ) -> list[Near]:
        """Return the chunks whose best window is nearest to a vector, best first; `files`: those to look in."""
        ...

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None
    ) -> dict[int, float]:
        """Return the cosine of the best window of each chunk that has one."""
        ...

    def close(self) -> None:
        """Release files."""
        ...


class _Held(NamedTuple):
    """Holds a row for each window: its chunk, its file, when it counts, its scale and its numbers."""

    chunks: NDArray[np.int64]
    files: NDArray[np.int64]
    added: NDArray[np.int64]
    scales: NDArray[np.float32]
    numbers: Integers

    def with_rows(self, rows: Sequence[tuple[int, int, int, bytes]]) -> _Held:
        """Return this with further rows: chunk, file, the number of the addition, packed vector."""
        parts = [unpack_parts(data) for *_, data in rows]
        chunks, files, added = (np.array([row[place] for row in rows], np.int64) for place in range(3))
        return _Held(
            np.concatenate([self.chunks, chunks]),
            np.concatenate([self.files, files]),
            np.concatenate([self.added, added]),
            np.concatenate([self.scales, np.array([scale for scale, _ in parts], np.float32)]),
            np.concatenate([self.numbers, np.array([own for _, own in parts], np.int8)]),
        )


def _nothing() -> _Held:
    none = np.zeros(0, np.int64)
    return _Held(none, none, none, np.zeros(0, np.float32), np.zeros((0, DIMENSIONS), np.int8))


class WindowVectors:
    """Keeps the windows up to date with an index and the cache; one object serves several threads."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self._guard = threading.Lock()
        self._generation: str | None = None
        self._last_id = 0
        # The chunks, with their files, whose windows are not known, by the key of their list.
        self._missing: dict[bytes, list[tuple[int, int]]] = {}
        self._held = _nothing()

    def nearest(
        self, index: IndexReader, query: Vectors, limit: int, *, files: Sequence[int] | None, until: int | None
    ) -> list[Near]:
        """Return the chunks whose best window is nearest to a vector, best first; `files`: those to look in."""
        held = self._updated(index)
        counts = usable(held.added, until)
        if files is not None:
            counts &= np.isin(held.files, np.asarray(files, np.int64))
        found = _best(held, query, counts)
        return sorted(found, key=lambda near: (-near.cosine, near.id))[:limit]

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None
    ) -> dict[int, float]:
        """Return the cosine of the best window of each chunk that has one."""
        held = self._updated(index)
        wanted = np.isin(held.chunks, np.asarray(chunk_ids, np.int64))
        return dict(_best(held, query, wanted & usable(held.added, until)))

    def close(self) -> None:
        """Do nothing: the cache belongs to its opener."""

    def _updated(self, index: IndexReader) -> _Held:
        with self._guard:
            generation = index.generation()
            if generation != self._generation:
                self._generation, self._last_id, self._held, self._missing = generation, 0, _nothing(), {}
                for chunk, file, key in index.rows("SELECT id, file_id, key FROM chunks"):
                    self._missing.setdefault(list_key(key), []).append((chunk, file))
            newest = self._cache.newest_id() if self._missing else self._last_id
            if newest != self._last_id:
                if newest - self._last_id > _MANY_NEW:
                    lists = self._cache.window_lists(list(self._missing))
                else:
                    lists = self._cache.window_lists_after(self._last_id)
                self._last_id = newest
                self._add({key: found for key, found in lists.items() if key in self._missing})
            return self._held

    def _add(self, lists: dict[bytes, WindowList]) -> None:
        packed = self._cache.packed(list(dict.fromkeys(own for found in lists.values() for own in found.keys)))
        rows = []
        for key, found in lists.items():
            places = self._missing.pop(key)
            own = [packed[name] for name in found.keys if name in packed]
            rows += [(*place, max(found.id, each.id), each.data) for place in places for each in own]
        if rows:
            self._held = self._held.with_rows(rows)


def _best(held: _Held, query: Vectors, counts: NDArray[np.bool_]) -> list[Near]:
    """Return each chunk of the rows that count, with the cosine of its best window."""
    places = np.flatnonzero(counts & (held.scales > 0))
    found = cosines_of(held.numbers[places], held.scales[places], query)
    chunks, own = np.unique(held.chunks[places], return_inverse=True)
    best = np.full(len(chunks), -1.0, np.float32)
    np.maximum.at(best, own, found)
    return [Near(int(chunk), float(cosine)) for chunk, cosine in zip(chunks, best, strict=True)]
