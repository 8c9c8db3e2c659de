"""Defines the protocol of vector stores: entries with an id, a content hash, a vector and attributes.

`sqlite_vector_store` is the default and needs nothing; `chroma_vector_store` needs the extra `chroma`. Both pass
tests/runtime/codebase/test_vector_stores.py, and hold the pieces of an index in tests/runtime/codebase/test_forest.py.
A store holds what can be made again, so that it may be deleted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.sentence_model.model_file import MODEL_SHA256
from runtime.errors import InputError, MachineError

SQLITE_NAME = "vector_store.sqlite"
CHROMA_NAME = "chroma"

MAX_ID_CHARS = 500
MAX_ATTRIBUTES = 16
MAX_ATTRIBUTE_CHARS = 2_000
_COLLECTION = re.compile(r"[a-z][a-z0-9_]{2,59}")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]{0,39}")


class VectorEntry(NamedTuple):
    """Describes what is stored under an id. `content_hash`: of what the vector was made from."""

    id: str
    content_hash: str
    vector: Vectors
    attributes: Mapping[str, str] = {}


class Match(NamedTuple):
    """Pairs an entry that was found with its cosine to what was asked for, -1 to 1."""

    id: str
    cosine: float
    attributes: Mapping[str, str]


class VectorStore(Protocol):
    """Keeps the entries of one collection; safe to use from several threads, and beside other processes.

    `where` restricts an operation to entries with these attributes, all of them; an empty one restricts nothing.
    `until` restricts it to entries written no later than the write of that number; None restricts nothing. Ids, hashes,
    vectors and attributes that no store can keep raise InputError, and a store that cannot be read or written
    StateStorageError.
    """

    def upsert(self, entries: Sequence[VectorEntry]) -> int:
        """Add entries, or put them in place of those with the same id; return how many were written.

        One that is there already with the same content hash and attributes is not written again. Of entries with the
        same id the last one counts.
        """
        ...

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries and return how many there were; unknown ids are passed over."""
        ...

    def query(
        self, vector: Vectors, limit: int, where: Mapping[str, str] = {}, *, until: int | None = None
    ) -> list[Match]:
        """Return the entries nearest to a vector, best first, at most `limit`; fewer where there are no more."""
        ...

    def cosines(self, vector: Vectors, ids: Sequence[str], *, until: int | None = None) -> dict[str, float]:
        """Return the cosine of a vector and each of the entries with these ids; unknown ids are left out."""
        ...

    def ids(self, *, until: int | None = None) -> frozenset[str]:
        """Return the ids of the entries."""
        ...

    def newest(self) -> int:
        """Return the number of the last write to the store, of any collection; it never falls."""
        ...

    def hashes(self, where: Mapping[str, str] = {}) -> dict[str, str]:
        """Return the content hashes of the entries by their ids."""
        ...

    def count(self, where: Mapping[str, str] = {}) -> int:
        """Return the number of entries."""
        ...

    def close(self) -> None:
        """Release the files of the store. Idempotent."""
        ...


# Opens a collection by its name.
StoreOpener = Callable[[str], VectorStore]


def first_number() -> int:
    """Return the number at which the writes of a new store begin: above those of one that was there before."""
    return time.time_ns() // 1_000_000


def open_vector_store(
    kind: VectorStoreKind,
    folder: Path,
    collection: str,
    *,
    dimensions: int = DIMENSIONS,
    model: str = MODEL_SHA256,
) -> VectorStore:
    """Open a collection of the store in a folder. InputError for a wrong name, MachineError if a package is missing.

    A collection whose vectors another model made, or that have other dimensions, is emptied when it is first used.
    """
    if not _COLLECTION.fullmatch(collection):
        raise InputError(f"a collection is named by 3 to 60 of a-z, 0-9 and _, not {collection[:80]!r}")
    if kind == "chroma":
        if not has_chroma():
            raise MachineError(
                "code_index.vector_store is chroma, and its package is not installed; install it with "
                "`pip install 'jeeves[chroma]'`, or choose sqlite"
            )
        from runtime.codebase.semantics.chroma_vector_store import ChromaVectorStore

        return ChromaVectorStore(folder / CHROMA_NAME, collection, dimensions, model)
    from runtime.codebase.semantics.sqlite_vector_store import SqliteVectorStore

    return SqliteVectorStore(folder / SQLITE_NAME, collection, dimensions, model)


def has_chroma() -> bool:
    """Return whether the package of the Chroma store is installed."""
    return find_spec("chromadb") is not None


def checked_entries(entries: Sequence[VectorEntry], dimensions: int) -> list[VectorEntry]:
    """Return entries that every store can keep, the last of each id. Raises InputError."""
    last: dict[str, VectorEntry] = {}
    for entry in entries:
        _check_text("id", entry.id, MAX_ID_CHARS)
        _check_text("content hash", entry.content_hash, MAX_ID_CHARS)
        vector = checked_vector(entry.vector, dimensions)
        last[entry.id] = VectorEntry(entry.id, entry.content_hash, vector, checked_attributes(entry.attributes))
    return list(last.values())


def checked_vector(vector: Vectors, dimensions: int) -> Vectors:
    """Return a vector as float32. InputError if it has other dimensions, is zero, or holds what is no finite number."""
    numbers = np.asarray(vector, np.float32)
    if numbers.shape != (dimensions,):
        raise InputError(f"a vector has the shape {numbers.shape}, where ({dimensions},) is kept")
    if not np.isfinite(numbers).all():
        raise InputError("a vector holds numbers that are not finite (NaN or infinity)")
    if not numbers.any():
        raise InputError("a vector of zeros has no direction, and nothing is like it; leave its entry out")
    return numbers


def checked_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return attributes that every store can keep. Raises InputError."""
    if len(attributes) > MAX_ATTRIBUTES:
        raise InputError(f"an entry has {len(attributes)} attributes, at most {MAX_ATTRIBUTES} are kept")
    for name, value in attributes.items():
        if not isinstance(name, str) or not _ATTRIBUTE.fullmatch(name):
            raise InputError(f"an attribute is named by 1 to 40 of a-z, 0-9 and _, not {str(name)[:80]!r}")
        _check_text(f"attribute {name}", value, MAX_ATTRIBUTE_CHARS, least=0)
    return dict(attributes)


def checked_limit(limit: int, count: int) -> int:
    """Return how many entries are asked for, no more than there are. InputError for less than one."""
    if limit < 1:
        raise InputError(f"{limit} entries are asked for, at least 1 expected")
    return min(limit, count)


def is_storable(text: str) -> bool:
    """Return whether a store can keep a text: one without U+0000 and halves of characters."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def _check_text(what: str, text: str, most: int, *, least: int = 1) -> None:
    if not isinstance(text, str) or not least <= len(text) <= most:
        size = f"{len(text)} characters" if isinstance(text, str) else f"the type {type(text).__name__}"
        raise InputError(f"the {what} of an entry has {size}, where {least} to {most} characters are kept")
    if not is_storable(text):
        raise InputError(f"the {what} of an entry holds U+0000 or a half of a character, which no store keeps")
