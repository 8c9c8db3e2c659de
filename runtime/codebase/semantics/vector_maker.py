"""Makes missing vectors step by step: texts that a question wants first, then all pieces of indexes."""

from __future__ import annotations

import logging
import os
import secrets
from collections import deque
from pathlib import Path

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import Embedder, Vectors
from runtime.codebase.semantics.packing import NO_VECTOR, as_kept
from runtime.codebase.semantics.piece_order import Piece, pieces_in_order
from runtime.codebase.semantics.piece_texts import PieceTexts
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.errors import StateStorageError

# Some tenths of a second of work, which is what is lost when the process is killed.
TEXTS_AT_ONCE = 8
_MAX_LOGGED_CHARS = 200

log = logging.getLogger(__name__)


class VectorMaker:
    """Makes missing vectors step by step, and notes in the cache how far it is."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._index: WantedIndex | None = None
        self._missing: deque[Piece] = deque()
        self._texts = PieceTexts()
        self._made = 0

    def step(self) -> int:
        """Make some vectors and return how many texts were taken; 0 if none are missing.

        A text that the model fails on gets no vector and is not tried again. Raises what embedding does if the model
        fails on every text.
        """
        first = self._cache.wanted_first(TEXTS_AT_ONCE)
        if first:
            # Forgotten before they are tried: a text that the model fails on would stop each process anew.
            self._cache.forget_first(list(first))
            self._make(first)
            return len(first)
        wanted = self._cache.wanted()
        if not wanted:
            return 0
        if wanted[0] != self._index:
            self._take(wanted[0])
        taken = [self._missing.popleft() for _ in range(min(TEXTS_AT_ONCE, len(self._missing)))]
        self._make(self._texts.of(Path(wanted[0].root), taken))
        self._made += len(taken)
        self._cache.note(self._owner, self._made, self._made + len(self._missing))
        if not self._missing:
            self._cache.done_with(wanted[0])
            self._index = None
        return max(1, len(taken))

    def _take(self, index: WantedIndex) -> None:
        """Begin with an index: list what is missing now. What a later refresh changes is asked for by that refresh."""
        self._index, self._made, self._texts = index, 0, PieceTexts()
        self._missing = deque(missing_pieces(index, self._cache))

    def _make(self, texts: dict[bytes, str]) -> None:
        if not texts:
            return
        try:
            rows = self._embedder.embed(list(texts.values()))
            made = {key: as_kept(row) for key, row in zip(texts, rows, strict=True)}
        except Exception as error:  # noqa: BLE001 - whatever a text makes it fail with; `embed([""])` raises the rest
            log.info("vectors.batch_failed", extra={"texts": len(texts), "error": repr(error)})
            made = {key: self._made_alone(text) for key, text in texts.items()}
        self._cache.put(made)

    def _made_alone(self, text: str) -> Vectors:
        """Return the vector of a text, `NO_VECTOR` for one that the model fails on; raises if it fails on any text."""
        try:
            return as_kept(self._embedder.embed([text])[0])
        except Exception as error:  # noqa: BLE001 - whatever a text makes it fail with; `embed([""])` raises the rest
            self._embedder.embed([""])
            file = text.partition("\n")[0][:_MAX_LOGGED_CHARS]
            log.warning("vectors.text_skipped", extra={"text": file, "chars": len(text), "error": repr(error)})
            return NO_VECTOR


def missing_pieces(index: WantedIndex, cache: VectorCache) -> list[Piece]:
    """Return the pieces of an index without a vector, in order; at most as many as the cache holds for one index."""
    try:
        reader = IndexReader(Path(index.index_path))
    except StateStorageError as error:  # deleted or made by another version: its next refresh asks again
        log.info("vectors.no_index", extra={"path": index.index_path, "error": error.message})
        return []
    try:
        generation = reader.generation()
        if cache.is_whole(index, "pieces", generation):
            return []
        # A repository with more pieces than that would drive out its own vectors and never be done.
        pieces = pieces_in_order(reader)[: cache.max_vectors // 2]
    finally:
        reader.close()
    known = cache.packed([piece.key for piece in pieces])
    seen = set(known)
    missing = []
    for piece in pieces:
        if piece.key not in seen:
            seen.add(piece.key)
            missing.append(piece)
    if not missing:
        cache.note_whole(index, "pieces", generation)
    return missing
