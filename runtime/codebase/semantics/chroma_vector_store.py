"""Keeps vectors in a Chroma database below a folder.

Imported only where the extra `chroma` is installed. Chroma's own client neither sees what another process has written
since it was opened nor keeps two writers apart. So operations hold a lock file, which counts the writes, and a client
that has missed one is opened anew. Nothing is sent anywhere: the database is embedded, and Chroma's reports to its
maker are switched off.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.vector_store import (
    Match,
    VectorEntry,
    checked_attributes,
    checked_entries,
    checked_limit,
    checked_vector,
)
from runtime.errors import JeevesError, StateStorageError

# Ours among the metadata of an entry; attributes begin with a letter.
_HASH = "_hash"
_AT_ONCE = 1_000
_COUNT_BYTES = 8


class _SharedClient:
    """Opens one client of a database for all stores of this process, and anew after a write by another process."""

    def __init__(self, path: Path) -> None:
        self.guard = threading.RLock()
        self._path = path
        self._client: Any = None
        self._seen = -1

    def client(self, written: int) -> Any:
        """Return the client, which has seen all writes up to the count `written`."""
        if self._client is not None and self._seen != written:
            self.close()
        if self._client is None:
            chromadb = importlib.import_module("chromadb")
            settings = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False)
            self._client = chromadb.PersistentClient(path=str(self._path), settings=settings)
        self._seen = written
        return self._client

    def has_written(self, written: int) -> None:
        """Take note of a write of this process."""
        self._seen = written

    def close(self) -> None:
        """Close the client; it is opened again when it is needed."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


_shared: dict[Path, _SharedClient] = {}
_shared_guard = threading.Lock()


class _Opened:
    """Holds a collection while the lock is held; whoever changes it says so, for other processes to see."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self.is_changed = False


class ChromaVectorStore:
    """Keeps one collection of a database."""

    def __init__(self, path: Path, collection: str, dimensions: int) -> None:
        self._path = path
        self._name = collection
        self._dimensions = dimensions
        with _shared_guard:
            self._shared = _shared.setdefault(path.absolute(), _SharedClient(path))

    def upsert(self, entries: Sequence[VectorEntry]) -> int:
        """Add entries, or put them in place of those with the same id; return how many were written."""
        checked = checked_entries(entries, self._dimensions)
        with self._opened(is_write=True) as opened:
            collection = opened.collection
            known = _metadata(collection, [entry.id for entry in checked])
            new = [entry for entry in checked if known.get(entry.id) != _metadata_of(entry)]
            opened.is_changed = bool(new)
            # A changed entry is deleted first: Chroma merges metadata, and old attributes would stay.
            _delete(collection, [entry.id for entry in new if entry.id in known])
            for at in range(0, len(new), _AT_ONCE):
                part = new[at : at + _AT_ONCE]
                collection.upsert(
                    ids=[entry.id for entry in part],
                    embeddings=[entry.vector for entry in part],
                    metadatas=[_metadata_of(entry) for entry in part],
                )
        return len(new)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries and return how many there were."""
        with self._opened(is_write=True) as opened:
            known = list(_metadata(opened.collection, list(dict.fromkeys(filter(_is_storable, ids)))))
            opened.is_changed = bool(known)
            _delete(opened.collection, known)
        return len(known)

    def query(self, vector: Vectors, limit: int, where: Mapping[str, str] = {}) -> list[Match]:
        """Return the entries nearest to a vector, best first."""
        asked = checked_vector(vector, self._dimensions)
        condition = _condition(where)
        with self._opened() as opened:
            collection = opened.collection
            most = checked_limit(limit, collection.count())
            if not most:
                return []
            include = ["distances", "metadatas"]
            found = collection.query(query_embeddings=[asked], n_results=most, where=condition, include=include)
        rows = zip(found["ids"][0], found["distances"][0], found["metadatas"][0], strict=True)
        matches = [Match(name, 1.0 - float(distance), _attributes(metadata)) for name, distance, metadata in rows]
        return sorted(matches, key=lambda match: (-match.cosine, match.id))

    def hashes(self, where: Mapping[str, str] = {}) -> dict[str, str]:
        """Return the content hashes of the entries by their ids."""
        with self._opened() as opened:
            found = opened.collection.get(where=_condition(where), include=["metadatas"])
        return {name: str(each[_HASH]) for name, each in zip(found["ids"], found["metadatas"], strict=True)}

    def count(self, where: Mapping[str, str] = {}) -> int:
        """Return the number of entries."""
        condition = _condition(where)
        with self._opened() as opened:
            if condition is None:
                return int(opened.collection.count())
            return len(opened.collection.get(where=condition, include=[])["ids"])

    def close(self) -> None:
        """Close the client that the stores of this process share; it is opened again by the next call."""
        with self._shared.guard:
            self._shared.close()

    @contextmanager
    def _opened(self, *, is_write: bool = False) -> Iterator[_Opened]:
        """Yield the collection under the lock of the database. Raises StateStorageError for whatever fails in it."""
        with self._shared.guard:
            try:
                with _locked(self._path, is_write=is_write) as lock:
                    written = _count_in(lock)
                    client = self._shared.client(written)
                    space = {"hnsw": {"space": "cosine"}}
                    found = client.get_or_create_collection(self._name, configuration=space, embedding_function=None)
                    opened = _Opened(found)
                    yield opened
                    if opened.is_changed:
                        os.pwrite(lock, (written + 1).to_bytes(_COUNT_BYTES), 0)
                        self._shared.has_written(written + 1)
            except JeevesError:
                raise
            except Exception as error:
                self._shared.close()
                raise StateStorageError(
                    f"the vector store {self._path} cannot be read or written: {error}; check the folder, or delete "
                    "it: it is made anew",
                    path=str(self._path),
                ) from error


@contextmanager
def _locked(path: Path, *, is_write: bool) -> Iterator[int]:
    path.mkdir(parents=True, exist_ok=True)
    lock = os.open(path / "jeeves.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if is_write else fcntl.LOCK_SH)
        yield lock
    finally:
        os.close(lock)


def _count_in(lock: int) -> int:
    return int.from_bytes(os.pread(lock, _COUNT_BYTES, 0))


def _metadata_of(entry: VectorEntry) -> dict[str, str]:
    return {**entry.attributes, _HASH: entry.content_hash}


def _attributes(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in metadata.items() if name != _HASH}


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


def _condition(where: Mapping[str, str]) -> dict[str, Any] | None:
    each = [{name: value} for name, value in checked_attributes(where).items()]
    if not each:
        return None
    return dict(each[0]) if len(each) == 1 else {"$and": each}


def _is_storable(text: str) -> bool:
    return bool(text) and "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)
