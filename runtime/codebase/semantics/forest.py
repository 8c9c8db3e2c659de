"""Counts the chunks of an index by what became of their vectors since a synchronisation began."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.forest_entries import chroma_pieces
from runtime.codebase.semantics.vector_cache import VectorCache


class ChunkCounts(NamedTuple):
    """Counts chunks: those embedded since, those whose vector was there before, and those left without one.

    A chunk that the model fails on counts as one that has its vector: it is not tried again.
    """

    embedded: int
    reused: int
    left: int


def newest_vector(vectors: str | None) -> int:
    """Return the id of the vector that was made last, of any repository; 0 without any."""
    if vectors is None:
        return 0
    with closing(VectorCache(Path(vectors))) as cache:
        return cache.newest_id()


def count_chunks(index_path: Path, vectors: Path, since_id: int, store: VectorStoreKind = "sqlite") -> ChunkCounts:
    """Return the counts of an index's chunks; vectors with an id above `since_id` count as embedded since.

    Those that are not in the store yet, where they are looked up in one, are left. StateStorageError if the index or
    the store cannot be read, MachineError if the package of the store is missing.
    """
    with closing(IndexReader(index_path)) as index:
        keys = [key for (key,) in index.rows("SELECT key FROM chunks")]
    with closing(VectorCache(vectors)) as cache:
        ids = cache.ids(list(set(keys)))
        if store == "chroma":
            with closing(chroma_pieces(vectors.parent)(index_path, "chunk")) as stored:
                kept = stored.ids()
            waiting = {key for key in ids if key.hex() not in kept}
            waiting -= cache.without_vectors(list(waiting))
            ids = {key: number for key, number in ids.items() if key not in waiting}
    known = [ids[key] for key in keys if key in ids]
    embedded = sum(found > since_id for found in known)
    return ChunkCounts(embedded, len(known) - embedded, len(keys) - len(known))
