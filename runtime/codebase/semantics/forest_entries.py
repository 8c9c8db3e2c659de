"""Describes the pieces of an index as entries of a vector store, and names their collections.

The id of an entry is the key of its vector, a hash of the piece's path, symbol and text: an entry never changes, and a
piece that has moved within its file keeps its own. Where a piece stands is for the index to tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.further_windows import list_key
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_store import MAX_ATTRIBUTE_CHARS, VectorStore, open_vector_store

PieceKind = Literal["chunk", "passage", "window"]
KINDS: tuple[PieceKind, ...] = ("chunk", "passage", "window")

# Opens the store that keeps the pieces of one kind of an index.
OpenPieces = Callable[[Path, PieceKind], VectorStore]


class PieceEntry(NamedTuple):
    """Describes a piece as an entry of a store."""

    key: bytes
    attributes: Mapping[str, str]


_CHUNKS = """SELECT c.key, f.path, coalesce(f.language, ''), coalesce(s.qualified_name, '') FROM chunks c
    JOIN files f ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id"""
_PASSAGES = """SELECT p.key, f.path, coalesce(f.language, ''), p.heading FROM passages p
    JOIN files f ON f.id = p.file_id"""


def collection_of(index_path: Path, kind: PieceKind) -> str:
    """Return the name of the collection of an index's pieces of one kind."""
    return f"{kind}_{hashlib.blake2b(str(index_path).encode('utf-8', 'surrogateescape'), digest_size=16).hexdigest()}"


def chroma_pieces(folder: Path) -> OpenPieces:
    """Return what opens the Chroma database below a folder."""
    return lambda index_path, kind: open_vector_store("chroma", folder, collection_of(index_path, kind))


def entries_of(index: IndexReader, kind: PieceKind, cache: VectorCache) -> dict[str, PieceEntry]:
    """Return the entries of all pieces of a kind by their ids; of windows those that `cache` has a list of."""
    rows = index.rows(_PASSAGES if kind == "passage" else _CHUNKS)
    lists = cache.window_lists([list_key(key) for key, *_ in rows]) if kind == "window" else {}
    found: dict[str, PieceEntry] = {}
    for key, path, language, symbol in rows:
        attributes = {"file": _kept(path), "language": _kept(language), "symbol": _kept(symbol)}
        if kind != "window":
            found[key.hex()] = PieceEntry(key, attributes)
        elif own := lists.get(list_key(key)):
            for number, name in enumerate(own.keys, 2):
                found[name.hex()] = PieceEntry(name, {**attributes, "window": str(number)})
    return found


def _kept(text: str) -> str:
    """Return a text as a store can keep it."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:MAX_ATTRIBUTE_CHARS]
