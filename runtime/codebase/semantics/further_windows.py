"""Embeds the windows of chunks behind their beginnings, after the first vectors of an index.

The vector of a piece sees 128 tokens. A window is 64 tokens of a chunk's body behind its path and name; the first one
is left out, since the vector of the chunk stands for it. A vector is kept by the hash of its window, so that a changed
chunk keeps those of the windows before the change. A list of these keys, kept by the key of the chunk, tells which
windows a chunk has, and that it was looked at; most chunks are short, and their lists empty.
"""

from __future__ import annotations

import hashlib
import logging
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.index.piece_text import KEY_BYTES
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.embedding import Embedder, Vectors, Window
from runtime.codebase.semantics.packing import as_kept
from runtime.codebase.semantics.piece_order import Piece, pieces_in_order
from runtime.codebase.semantics.piece_texts import PieceTexts
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.errors import StateStorageError

# Of each index; beyond them the windows would drive first vectors out of the cache, or take too much memory.
MAX_CHUNKS = 50_000
# A chunk has at most twelve windows, of which 45 take a second of processor time.
CHUNKS_AT_ONCE = 2
MAX_LOGGED_CHARS = 200
# The kinds of places whose meaning is compared with a question that does not ask for others.
WINDOWED = frozenset({"source", "docs"})
# Part of each key, and to be changed with the shape of windows: others are never taken for them.
_SHAPE = b"windows of 64 tokens, 48 apart"

log = logging.getLogger(__name__)


class WindowEmbedder(Embedder, Protocol):
    """Cuts what lies behind the beginning of a text into windows, and turns them into vectors of length 1."""

    def further_windows(self, text: str) -> list[Window]:
        """Return the windows of a text behind its beginning, in order; none for a short one."""
        ...

    def embed_windows(self, windows: Sequence[Window]) -> Vectors:
        """Return one row for each window, in order, of length 1."""
        ...


def list_key(chunk_key: bytes) -> bytes:
    """Return the key of the list of a chunk's windows."""
    return hashlib.blake2b(chunk_key, digest_size=KEY_BYTES, key=_SHAPE).digest()


def window_key(window: Window) -> bytes:
    """Return the key of a window's vector: a hash of its tokens."""
    return hashlib.blake2b(array("I", window).tobytes(), digest_size=KEY_BYTES, key=_SHAPE).digest()


def window_rows(index: IndexReader, cache: VectorCache) -> list[tuple[int, int, bytes]]:
    """Return a row for each further window that is known of the chunks of an index: chunk, file and key."""
    rows = index.rows("SELECT id, file_id, key FROM chunks")
    lists = cache.window_lists([list_key(key) for _, _, key in rows])
    found = ((chunk, file, lists.get(list_key(key))) for chunk, file, key in rows)
    return [(chunk, file, own) for chunk, file, of_chunk in found if of_chunk is not None for own in of_chunk.keys]


def are_windows_next(cache: VectorCache) -> bool:
    """Return True where the index that was asked about last lacks nothing but windows, and no question waits.

    They go before the vectors of indexes that were asked about earlier: whoever waits for the last one waits for these.
    """
    windows = cache.wanted_windows()
    return bool(windows) and windows[0] not in cache.wanted() and not cache.wanted_first(1)


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
        for key, text in self._texts.of(Path(wanted[0].root), taken).items():
            vectors, keys = self._windows_of(text)
            self._cache.put_windows({list_key(key): keys}, vectors)
        if not self._missing:
            self._cache.done_with_windows(wanted[0])
            self._index = None
        return max(1, len(taken))

    def _windows_of(self, text: str) -> tuple[Mapping[bytes, Vectors], list[bytes]]:
        """Return the vectors of the windows that have none yet, and the keys of all, in order."""
        try:
            windows = self._embedder.further_windows(text)
            keys = [window_key(window) for window in windows]
            known = self._cache.ids(keys)
            new = {key: window for key, window in zip(keys, windows, strict=True) if key not in known}
            rows = self._embedder.embed_windows(list(new.values())) if new else ()
            return {key: as_kept(row) for key, row in zip(new, rows, strict=True)}, keys
        except Exception as error:  # noqa: BLE001 - whatever a text makes it fail with; an empty one raises the rest
            self._embedder.embed([""])
            file = text.partition("\n")[0][:MAX_LOGGED_CHARS]
            log.warning("vectors.windows_skipped", extra={"text": file, "chars": len(text), "error": repr(error)})
            return {}, []


def _without_windows(index: WantedIndex, cache: VectorCache) -> list[Piece]:
    """Return the chunks of code and documents of an index that were not looked at yet, in the order of embedding."""
    try:
        with closing(IndexReader(Path(index.index_path))) as reader:
            generation = reader.generation()
            if cache.is_whole(index, "windows", generation):
                return []
            chunks = [piece for piece in pieces_in_order(reader) if is_windowed(piece)]
    except StateStorageError:  # deleted or made by another version: its next refresh asks again
        return []
    lists = {list_key(piece.key): piece for piece in chunks[:MAX_CHUNKS]}
    known = cache.window_lists(list(lists))
    vectors = cache.ids([key for found in known.values() for key in found.keys])
    looked_at = {key for key, found in known.items() if all(own in vectors for own in found.keys)}
    missing = [piece for key, piece in lists.items() if key not in looked_at]
    if not missing:
        cache.note_whole(index, "windows", generation)
    return missing


def is_windowed(piece: Piece) -> bool:
    """Return True for a chunk of code or of a document: tests and generated files are not compared by meaning."""
    return not piece.is_passage and kind_of_place(piece.file, piece.symbol) in WINDOWED
