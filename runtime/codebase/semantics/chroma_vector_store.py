"""Keeps vectors in a Chroma database below a folder.

Imported only where the extra `chroma` is installed. Chroma's index is approximate, and entries that are unlike all
others may be out of its reach. With the figures below, the first 60 and the first 200 of 15,000 pieces of code were the
nearest ones in 20 of 20 queries, and each of 12,000 was found by its own vector. In small collections the index is not
relied on.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.codebase.semantics.chroma_database import ChromaWrites, chroma_database
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.vector_store import (
    Match,
    VectorEntry,
    checked_attributes,
    checked_entries,
    checked_limit,
    checked_vector,
    is_storable,
)

# Ours among the metadata of an entry; attributes begin with a letter.
_HASH = "_hash"
_NUMBER = "_number"
_AT_ONCE = 1_000
# Of so many entries, each is compared.
EXACT_UP_TO = 2_000
_INDEX = {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 400}


class ChromaVectorStore:
    """Keeps one collection of a database."""

    def __init__(self, path: Path, collection: str, dimensions: int, model: str) -> None:
        self._name = collection
        self._dimensions = dimensions
        self._made_by = {"model": model, "dimensions": dimensions}
        self._database = chroma_database(path)

    def upsert(self, entries: Sequence[VectorEntry]) -> int:
        """Add entries, or put them in place of those with the same id; return how many were written."""
        checked = checked_entries(entries, self._dimensions)
        with self._database.opened(is_write=True) as writes:
            found = self._found(writes)
            known = {} if found is None else _metadata(found, [entry.id for entry in checked])
            new = [entry for entry in checked if _written(known.get(entry.id)) != _metadata_of(entry)]
            if not new:
                return 0
            number = writes.begin()
            collection = self._made(writes) if found is None else found
            # A changed entry is deleted first: Chroma merges metadata, and old attributes would stay.
            _delete(collection, [entry.id for entry in new if entry.id in known])
            for at in range(0, len(new), _AT_ONCE):
                part = new[at : at + _AT_ONCE]
                collection.upsert(
                    ids=[entry.id for entry in part],
                    embeddings=[entry.vector for entry in part],
                    metadatas=[{**_metadata_of(entry), _NUMBER: number} for entry in part],
                )
            # What is left to be put into its index is put there now: readers, of which there may be many, only read.
            collection.query(query_embeddings=[new[0].vector], n_results=1, include=[])
        return len(new)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries and return how many there were."""
        with self._database.opened(is_write=True) as writes:
            collection = self._found(writes)
            if collection is None:
                return 0
            known = list(_metadata(collection, [each for each in dict.fromkeys(ids) if each and is_storable(each)]))
            if known:
                writes.begin()
                _delete(collection, known)
        return len(known)

    def query(
        self, vector: Vectors, limit: int, where: Mapping[str, str] = {}, *, until: int | None = None
    ) -> list[Match]:
        """Return the entries nearest to a vector, best first."""
        asked = checked_vector(vector, self._dimensions)
        checked_attributes(where)
        checked_limit(limit, limit)
        with self._database.opened() as writes:
            collection = self._found(writes)
            count = 0 if collection is None else collection.count()
            if not count:
                return []
            condition = _condition(where, until, writes.number)
            if count <= EXACT_UP_TO:
                cosines = _compared(collection, asked, count, condition)
            else:
                cosines = _near(collection, asked, checked_limit(limit, count), condition)
            best = sorted(cosines, key=lambda name: (-cosines[name], name))[:limit]
            metadata = _metadata(collection, best)
        return [Match(name, cosines[name], _attributes(metadata[name])) for name in best]

    def cosines(self, vector: Vectors, ids: Sequence[str], *, until: int | None = None) -> dict[str, float]:
        """Return the cosine of a vector and each of the entries with these ids."""
        asked = checked_vector(vector, self._dimensions)
        wanted = [each for each in dict.fromkeys(ids) if each and is_storable(each)]
        cosines: dict[str, float] = {}
        with self._database.opened() as writes:
            collection = self._found(writes)
            condition = _condition({}, until, writes.number)
            for at in range(0, len(wanted) if collection is not None else 0, _AT_ONCE):
                found = collection.get(ids=wanted[at : at + _AT_ONCE], where=condition, include=["embeddings"])
                cosines |= dict(zip(found["ids"], _cosines(found["embeddings"], asked), strict=True))
        return cosines

    def ids(self, *, until: int | None = None) -> frozenset[str]:
        """Return the ids of the entries."""
        with self._database.opened() as writes:
            return self._ids(writes, _condition({}, until, writes.number))

    def newest(self) -> int:
        """Return the number of the last write to the database."""
        with self._database.opened() as writes:
            return writes.number

    def hashes(self, where: Mapping[str, str] = {}) -> dict[str, str]:
        """Return the content hashes of the entries by their ids."""
        condition = _condition(where)
        with self._database.opened() as writes:
            collection = self._found(writes)
            if collection is None:
                return {}
            found = collection.get(where=condition, include=["metadatas"])
        return {name: str(each[_HASH]) for name, each in zip(found["ids"], found["metadatas"], strict=True)}

    def count(self, where: Mapping[str, str] = {}) -> int:
        """Return the number of entries."""
        condition = _condition(where)
        with self._database.opened() as writes:
            if condition is not None:
                return len(self._ids(writes, condition))
            collection = self._found(writes)
            return 0 if collection is None else int(collection.count())

    def close(self) -> None:
        """Close the client that the stores of this process share; it is opened again by the next call."""
        self._database.close()

    def _ids(self, writes: ChromaWrites, condition: dict[str, Any] | None) -> frozenset[str]:
        collection = self._found(writes)
        return frozenset() if collection is None else frozenset(collection.get(where=condition, include=[])["ids"])

    def _found(self, writes: ChromaWrites) -> Any:
        """Return the collection; None if there is none yet, or one of another model, which is as good as none."""
        found = self._named(writes)
        return found if found is not None and dict(found.metadata or {}) == self._made_by else None

    def _made(self, writes: ChromaWrites) -> Any:
        """Return the collection made anew."""
        if self._named(writes) is not None:
            writes.client.delete_collection(self._name)
        configuration = {"hnsw": _INDEX}
        return writes.client.create_collection(
            self._name, configuration=configuration, metadata=self._made_by, embedding_function=None
        )

    def _named(self, writes: ChromaWrites) -> Any:
        missing: type[Exception] = importlib.import_module("chromadb.errors").NotFoundError
        try:
            return writes.client.get_collection(self._name, embedding_function=None)
        except missing:
            return None


def _near(collection: Any, asked: Vectors, most: int, condition: dict[str, Any] | None) -> dict[str, float]:
    found = collection.query(query_embeddings=[asked], n_results=most, where=condition, include=["distances"])
    return {name: 1.0 - float(distance) for name, distance in zip(found["ids"][0], found["distances"][0], strict=True)}


def _compared(collection: Any, asked: Vectors, count: int, condition: dict[str, Any] | None) -> dict[str, float]:
    cosines = _near(collection, asked, count, condition)
    if condition is None and len(cosines) == count:
        return cosines
    missing = [name for name in collection.get(where=condition, include=[])["ids"] if name not in cosines]
    found = collection.get(ids=missing, include=["embeddings"]) if missing else {"ids": [], "embeddings": []}
    return cosines | dict(zip(found["ids"], _cosines(found["embeddings"], asked), strict=True))


def _cosines(rows: Any, asked: Vectors) -> list[float]:
    if not len(rows):
        return []
    vectors = np.asarray(rows, np.float32)
    cosines: list[float] = ((vectors @ asked) / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked))).tolist()
    return cosines


def _written(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if metadata is None else {name: value for name, value in metadata.items() if name != _NUMBER}


def _metadata_of(entry: VectorEntry) -> dict[str, str]:
    return {**entry.attributes, _HASH: entry.content_hash}


def _attributes(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in metadata.items() if name not in (_HASH, _NUMBER)}


def _metadata(collection: Any, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the metadata of those ids that are there."""
    known: dict[str, dict[str, Any]] = {}
    for at in range(0, len(ids), _AT_ONCE):
        found = collection.get(ids=list(ids[at : at + _AT_ONCE]), include=["metadatas"])
        known |= {name: dict(each) for name, each in zip(found["ids"], found["metadatas"], strict=True)}
    return known


def _delete(collection: Any, ids: Sequence[str]) -> None:
    for at in range(0, len(ids), _AT_ONCE):
        collection.delete(ids=list(ids[at : at + _AT_ONCE]))


def _condition(where: Mapping[str, str], until: int | None = None, newest: int = 0) -> dict[str, Any] | None:
    """Return a condition on metadata; None for none, also where all there is was written in time."""
    each: list[dict[str, Any]] = [{name: value} for name, value in checked_attributes(where).items()]
    if until is not None and until < newest:
        each.append({_NUMBER: {"$lte": until}})
    if not each:
        return None
    return each[0] if len(each) == 1 else {"$and": each}
