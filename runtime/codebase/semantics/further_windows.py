"""Embeds what of a chunk lies behind its first 128 tokens, window by window, after all first ones.

The vector of a window is kept by a key made from the chunk's. Behind the last window of a chunk its place is marked, so
that a chunk is looked at once. Short chunks, which most are, have that mark alone.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from runtime.codebase.index.piece_text import KEY_BYTES
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import MAX_WINDOWS, Vectors
from runtime.codebase.semantics.packing import NO_VECTOR, as_kept
from runtime.codebase.semantics.piece_order import Piece, pieces_in_order
from runtime.codebase.semantics.piece_texts import PieceTexts
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.errors import StateStorageError

# Of each index; beyond them the windows would drive first vectors out of the cache, or take too much memory.
MAX_CHUNKS = 50_000
CHUNKS_AT_ONCE = 4
MAX_LOGGED_CHARS = 200

log = logging.getLogger(__name__)


class WindowEmbedder(Protocol):
    """Turns what lies behind the first window of texts into vectors of length 1."""

    def further_windows(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text a row for each further window, in order; none for a text of one window."""
        ...


def window_key(key: bytes, number: int) -> bytes:
    """Return the key of a chunk's window; the first one, 1, has the key of the chunk itself."""
    return hashlib.blake2b(key + bytes([number]), digest_size=KEY_BYTES).digest()


def window_rows(index: IndexReader) -> Sequence[tuple[Any, ...]]:
    """Return a row for each further window that a chunk may have; none for an index of too many chunks."""
    rows = index.rows("SELECT id, file_id, key FROM chunks")
    if len(rows) > MAX_CHUNKS:
        return []
    numbers = range(2, MAX_WINDOWS + 1)
    return [(chunk, file, window_key(key, number)) for chunk, file, key in rows for number in numbers]


def want_windows(vectors: Path, root: str, index_path: str) -> None:
    """Leave word that the further windows of an index's chunks are to be embedded."""
    with closing(VectorCache(vectors)) as cache:
        cache.want_windows(WantedIndex(index_path, root))


class WindowMaker:
    """Makes missing vectors of windows step by step."""

    def __init__(self, embedder: WindowEmbedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._index: WantedIndex | None = None
        self._missing: deque[Piece] = deque()
        self._texts = PieceTexts()

    def step(self) -> int:
        """Look at some chunks, and return how many; 0 if no index wants windows.

        A chunk that the model fails on gets no windows and is not tried again. Raises what embedding does if the model
        fails on every text.
        """
        wanted = self._cache.wanted_windows()
        if not wanted:
            return 0
        if wanted[0] != self._index:
            self._index, self._texts = wanted[0], PieceTexts()
            self._missing = deque(_without_windows(wanted[0], self._cache))
        taken = [self._missing.popleft() for _ in range(min(CHUNKS_AT_ONCE, len(self._missing)))]
        texts = self._texts.of(Path(wanted[0].root), taken)
        for key, text in texts.items():
            rows = self._windows_of(text)
            made = {window_key(key, number): as_kept(row) for number, row in enumerate(rows, 2)}
            if len(rows) < MAX_WINDOWS - 1:
                made[window_key(key, len(rows) + 2)] = NO_VECTOR
            self._cache.put(made)
        if not self._missing:
            self._cache.done_with_windows(wanted[0])
            self._index = None
        return max(1, len(taken))

    def _windows_of(self, text: str) -> Sequence[Vectors]:
        try:
            return list(self._embedder.further_windows([text])[0])
        except Exception as error:  # noqa: BLE001 - whatever a text makes it fail with; an empty one raises the rest
            self._embedder.further_windows([""])
            file = text.partition("\n")[0][:MAX_LOGGED_CHARS]
            log.warning("vectors.windows_skipped", extra={"text": file, "chars": len(text), "error": repr(error)})
            return []


def _without_windows(index: WantedIndex, cache: VectorCache) -> list[Piece]:
    """Return the chunks of an index that were not looked at yet, in the order of embedding."""
    try:
        with closing(IndexReader(Path(index.index_path))) as reader:
            chunks = [piece for piece in pieces_in_order(reader) if not piece.is_passage]
    except StateStorageError:  # deleted or made by another version: its next refresh asks again
        return []
    if len(chunks) > MAX_CHUNKS:
        return []
    seconds = {window_key(piece.key, 2): piece for piece in chunks}
    known = cache.ids(list(seconds))
    return [piece for key, piece in seconds.items() if key not in known]
