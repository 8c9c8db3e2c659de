"""Finds the pieces of an index in a vector store instead of the matrix of `PieceVectors`.

The store may be behind the index, or hold pieces that the index no longer has: only pieces of the index count, and of
these the ones that are there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.forest_entries import OpenPieces, PieceKind
from runtime.codebase.semantics.piece_order import paths_left_out
from runtime.codebase.semantics.piece_vectors import Near, VectorCount, piece_rows
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_store import VectorStore
from runtime.errors import MachineError

# Views of a store as it was at a write: each run has one.
MAX_KEPT = 8
# A store that is in use for too long, or broken, is not asked again and again by one search.
RETRY_AFTER_S = 5.0

T = TypeVar("T")

# Reads the id, the id of the file and the key of each vector of an index.
PieceRows = Callable[[IndexReader], Sequence[tuple[Any, ...]]]

log = logging.getLogger(__name__)


class _Place(NamedTuple):
    id: int
    file_id: int


_NONE: Mapping[str, float] = {}


class _Pieces(NamedTuple):
    """Holds the pieces of an index by kind and id of their entry; `total`: their number without those left out.

    `left_out`: the ids of the files whose pieces are to have no vector.
    `generation`: that of the index, and for windows the last vector that was made when they were read.
    """

    generation: tuple[str, int]
    by_entry: Mapping[PieceKind, Mapping[str, Sequence[_Place]]]
    left_out: frozenset[int]
    total: int


class StoredPieces:
    """Compares the pieces of one index with vectors; one object serves several threads."""

    def __init__(
        self,
        cache: VectorCache,
        opened: OpenPieces,
        windows: PieceRows | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create it without opening anything. `cache`: tells which pieces can get no vector.

        `windows`: reads those to be compared in place of chunks and passages; a chunk has several.
        """
        self._clock = clock
        self._cache = cache
        self._opened = opened
        self._rows = windows or piece_rows
        self._chunks: PieceKind = "chunk" if windows is None else "window"
        self._guard = threading.Lock()
        self._stores: dict[PieceKind, VectorStore] = {}
        self._pieces = _Pieces(("", 0), {}, frozenset(), 0)
        self._kept: dict[tuple[PieceKind, int | None], tuple[int, frozenset[str]]] = {}
        self._fault: str | None = None
        self._not_before_s = float("-inf")
        self._counted: dict[int | None, tuple[tuple[tuple[str, int], int, int], VectorCount]] = {}

    def newest(self, index: IndexReader) -> int:
        """Return the number of the last write to the store; 0 if it cannot be used."""
        return self._tried(lambda: self._store(index, self._chunks).newest(), 0)

    def fault(self) -> str | None:
        """Return why the store cannot be used; None if it could be when it was last asked."""
        return self._fault

    def counted(self, index: IndexReader, until: int | None = None) -> VectorCount:
        """Count the pieces that the store has or that can get no vector, and all, without those that are left out.

        `until`: the number of the last write that counts.
        """
        pieces = self._of(index)
        return self._tried(lambda: self._count(index, pieces, until), VectorCount(0, pieces.total))

    def _count(self, index: IndexReader, pieces: _Pieces, until: int | None) -> VectorCount:
        state = (pieces.generation, self._store(index, self._chunks).newest(), self._cache.newest_id())
        seen, count = self._counted.get(until, (None, VectorCount(0, 0)))
        if seen == state:
            return count
        ready = 0
        for kind, by_entry in pieces.by_entry.items():
            kept = self._known(index, kind, until)
            left = [name for name in by_entry if name not in kept]
            # Those that the model has failed on are in no store.
            without = {key.hex() for key in self._cache.without_vectors([bytes.fromhex(name) for name in left])}
            ready += sum(
                place.file_id not in pieces.left_out
                for name, places in by_entry.items()
                if name in kept or name in without
                for place in places
            )
        count = VectorCount(ready, pieces.total)
        self._counted = {**(self._counted if len(self._counted) < MAX_KEPT else {}), until: (state, count)}
        return count

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

        `files`: the ids of the files to look in, None for all. `until`: the number of the last write that counts.
        """
        kind: PieceKind = "passage" if passages else self._chunks
        by_entry = self._of(index).by_entry.get(kind, {})
        within = None if files is None else frozenset(files)

        def compare() -> Mapping[str, float]:
            store = self._store(index, kind)
            if within is not None:
                ids = [name for name, places in by_entry.items() if any(place.file_id in within for place in places)]
                return store.cosines(query, ids, until=until)
            # Entries of pieces that are gone may stand before the ones that are asked for.
            gone = len(self._known(index, kind, until) - by_entry.keys())
            return {match.id: match.cosine for match in store.query(query, limit + gone, until=until)}

        near = [
            Near(place.id, cosine)
            for name, cosine in (self._tried(compare, _NONE) if by_entry else _NONE).items()
            for place in by_entry.get(name, ())
            if within is None or place.file_id in within
        ]
        return sorted(near, key=lambda each: (-each.cosine, each.id))[:limit]

    def cosines(
        self, index: IndexReader, query: Vectors, chunk_ids: Sequence[int], *, until: int | None = None
    ) -> dict[int, float]:
        """Return the cosine of each chunk and a vector; chunks that the store lacks are left out."""
        wanted = frozenset(chunk_ids)
        by_entry = self._of(index).by_entry.get(self._chunks, {})
        named = {
            name: ids
            for name, places in by_entry.items()
            if (ids := [place.id for place in places if place.id in wanted])
        }

        def compare() -> Mapping[str, float]:
            return self._store(index, self._chunks).cosines(query, list(named), until=until)

        found = self._tried(compare, _NONE) if named else _NONE
        best: dict[int, float] = {}
        for name, cosine in found.items():
            for number in named[name]:
                best[number] = max(cosine, best.get(number, -1.0))
        return best

    def close(self) -> None:
        """Release the files of the store."""
        with self._guard:
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()

    def _tried(self, act: Callable[[], T], otherwise: T) -> T:
        """Return what `act` does with the store, or `otherwise`, also for some seconds after it could not be used."""
        if self._clock() < self._not_before_s:
            return otherwise
        try:
            done = act()
        except MachineError as error:
            self._fault, self._not_before_s = error.message, self._clock() + RETRY_AFTER_S
            log.warning("vector_store.unusable", extra={"error": error.message})
            return otherwise
        self._fault = None
        return done

    def _of(self, index: IndexReader) -> _Pieces:
        generation = (index.generation(), self._cache.newest_id() if self._chunks == "window" else 0)
        with self._guard:
            if self._pieces.generation == generation:
                return self._pieces
        by_entry: dict[PieceKind, dict[str, list[_Place]]] = {self._chunks: {}}
        rows = self._rows(index)
        left_out = frozenset(paths_left_out(index).values())
        total = sum(file_id not in left_out for _, file_id, _ in rows)
        for number, file_id, key in rows:
            of_kind = by_entry.setdefault("passage" if number < 0 else self._chunks, {})
            of_kind.setdefault(key.hex(), []).append(_Place(abs(number), file_id))
        with self._guard:
            self._pieces = _Pieces(generation, by_entry, left_out, total)
            return self._pieces

    def _store(self, index: IndexReader, kind: PieceKind) -> VectorStore:
        with self._guard:
            if kind not in self._stores:
                self._stores[kind] = self._opened(index.path, kind)
            return self._stores[kind]

    def _known(self, index: IndexReader, kind: PieceKind, until: int | None) -> frozenset[str]:
        """Return the ids in the store, read again after a write to it."""
        store = self._store(index, kind)
        newest = store.newest()
        with self._guard:
            seen, kept = self._kept.get((kind, until), (-1, frozenset()))
        if seen != newest:
            kept = store.ids(until=until)
            with self._guard:
                if len(self._kept) >= MAX_KEPT:
                    self._kept.clear()
                self._kept[kind, until] = (newest, kept)
        return kept
