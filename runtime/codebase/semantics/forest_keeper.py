"""Keeps a vector store equal to the indexes that want it, from the vectors that are there.

    keeper = ForestKeeper(cache, chroma_pieces(folder))
    keeper.step()      until it returns 0

The cache has a vector of every text that was ever embedded. So a store that was deleted, or was begun anew because a
writer had died, is filled again without the model.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeVar

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.forest_entries import KINDS, OpenPieces, PieceEntry, PieceKind, entries_of
from runtime.codebase.semantics.packing import unpack
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_store import VectorEntry, VectorStore
from runtime.errors import JeevesError, StateStorageError

# About 0.1 s of work: searches wait while one writes.
ENTRIES_AT_ONCE = 100
# Of the time of a step, before the next one: most of the time nobody writes.
REST = 2.0
# Vectors come one by one while an index is embedded; each look at what is missing takes some tenths of a second.
LOOK_EVERY_S = 5.0
LOOK_WHEN_IDLE_S = 0.5
RETRY_AFTER_S = 60.0

T = TypeVar("T")

log = logging.getLogger(__name__)


class _Work(NamedTuple):
    """Names what is to be done in one collection, in one write."""

    index_path: Path
    kind: PieceKind
    gone: tuple[str, ...]
    new: tuple[tuple[str, PieceEntry], ...]


class ForestKeeper:
    """Writes and deletes entries step by step."""

    def __init__(self, cache: VectorCache, opened: OpenPieces, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._opened = opened
        self._clock = clock
        self._work: deque[_Work] = deque()
        self._seen: dict[str, tuple[str, int, tuple[int, ...]]] = {}
        self._stores: dict[tuple[Path, PieceKind], VectorStore] = {}
        self._not_before_s = self._look_after_s = float("-inf")

    @property
    def has_work(self) -> bool:
        """True while more is to be written or deleted than was."""
        return bool(self._work)

    def step(self, *, is_idle: bool = True) -> int:
        """Write some entries, or delete some that are gone; return how many. 0: nothing to do, or not yet.

        `is_idle`: no vectors are being made. A store that cannot be used is tried again after a minute.
        """
        now_s = self._clock()
        if now_s < self._not_before_s:
            return 0
        try:
            if not self._work and now_s >= self._look_after_s:
                self._look_after_s = now_s + (LOOK_WHEN_IDLE_S if is_idle else LOOK_EVERY_S)
                self._look()
            done = self._do(self._work.popleft()) if self._work else 0
        except JeevesError as error:
            self._work.clear()
            self._seen.clear()
            self._not_before_s = now_s + RETRY_AFTER_S
            log.warning("forest.not_kept", extra={"error": error.message})
            return 0
        spent_s = self._clock() - now_s
        self._not_before_s = now_s + spent_s * (1 + REST)
        return done

    def close(self) -> None:
        """Release the files of the stores."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()

    def _look(self) -> None:
        """List what is to be done for the indexes that changed, or got vectors, since they were last looked at."""
        for wanted in self._cache.wanted_stored():
            path = Path(wanted.index_path)
            try:
                index = IndexReader(path)
            except StateStorageError:  # deleted or made by another version: its next refresh asks again
                self._cache.done_with_stored(wanted)
                continue
            with closing(index):
                self._list(path, index)

    def _list(self, path: Path, index: IndexReader) -> None:
        stores = {kind: self._store(path, kind) for kind in KINDS}
        state = (index.generation(), self._cache.newest_id(), tuple(store.count() for store in stores.values()))
        if self._seen.get(str(path)) == state:
            return
        for kind, store in stores.items():
            self._work += self._missing(path, kind, store, entries_of(index, kind, self._cache))
        if not self._work:
            self._seen[str(path)] = state

    def _store(self, path: Path, kind: PieceKind) -> VectorStore:
        if (path, kind) not in self._stores:
            self._stores[path, kind] = self._opened(path, kind)
        return self._stores[path, kind]

    def _missing(self, path: Path, kind: PieceKind, store: VectorStore, wanted: dict[str, PieceEntry]) -> list[_Work]:
        kept = store.ids()
        gone = [name for name in kept if name not in wanted]
        missing = {entry.key: name for name, entry in wanted.items() if name not in kept}
        made = self._cache.ids(list(missing)).keys()
        empty = self._cache.without_vectors(list(made))
        new = [(missing[key], wanted[missing[key]]) for key in missing if key in made and key not in empty]
        deleted = [_Work(path, kind, tuple(part), ()) for part in _parts(gone)]
        return deleted + [_Work(path, kind, (), tuple(part)) for part in _parts(new)]

    def _do(self, work: _Work) -> int:
        store = self._store(work.index_path, work.kind)
        if work.gone:
            return store.delete(work.gone)
        vectors = self._cache.packed([entry.key for _, entry in work.new])
        return store.upsert(
            [
                VectorEntry(name, name, unpack(vectors[entry.key].data), entry.attributes)
                for name, entry in work.new
                if entry.key in vectors
            ]
        )


def _parts(whole: list[T]) -> list[list[T]]:
    return [whole[at : at + ENTRIES_AT_ONCE] for at in range(0, len(whole), ENTRIES_AT_ONCE)]
