"""Computes similarities from kept vectors; asks for missing ones, which another process makes."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from runtime.codebase.index.piece_text import piece_key
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.semantics.cross_encoding.scoring import KeptScores, ScoreWithin
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.forest_entries import OpenPieces
from runtime.codebase.semantics.packing import as_kept
from runtime.codebase.semantics.piece_order import Piece
from runtime.codebase.semantics.piece_vectors import (
    Near,
    PieceSearch,
    PieceVectors,
    VectorCount,
)
from runtime.codebase.semantics.similarity import ReadLines
from runtime.codebase.semantics.stored_pieces import StoredPieces
from runtime.codebase.semantics.stored_windows import StoredWindows, best_of
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.window_vectors import WindowSearch, WindowVectors
from runtime.errors import MachineError

T = TypeVar("T")

log = logging.getLogger(__name__)

MAX_IN_MEMORY = 20_000
MAX_INDEXES = 4
# The vector of a question takes some milliseconds; more only while the process that embeds is starting.
PATIENCE_S = 1.0
# Once for a run, which then goes by words alone; longer where most pieces have vectors, so that much would be lost.
STARTING_PATIENCE_S = 2.0
LOADED_PATIENCE_S = 10.0
MOST_READY = 0.5
# Of a run that was promised meaning: only a loaded machine takes longer than milliseconds, or than a second to read.
PROMISED_PATIENCE_S = 15.0
WAITING_PATIENCE_S = 300.0

# Of the likely pieces of a question: some tenths of a second of work, so that what is made counts if time runs out.
EMBEDDED_AT_ONCE = 12
# More would only share the processor, and leave behind what nobody waits for any more.
QUESTIONS_AT_ONCE = 2

# Embeds texts within a number of seconds, one row each.
EmbedWithin = Callable[[Sequence[str], float], Vectors]


class VectorSemantics:
    """Computes similarities by an embedder, with its vectors kept in memory and in a cache file."""

    def __init__(
        self,
        embed: EmbedWithin,
        cache: VectorCache,
        stored: OpenPieces | None = None,
        score: ScoreWithin | None = None,
    ) -> None:
        """Create it; `stored` opens the vector store in which pieces are looked up, None: in the cache itself.

        `score`: reads texts together with a question; None: nothing does.
        """
        self._embed = embed
        self._scores = None if score is None else KeptScores(score)
        self._cache = cache
        self._stored = stored
        self._guard = threading.Lock()
        self._turns = threading.Semaphore(QUESTIONS_AT_ONCE)
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()
        self._of_index: OrderedDict[Path, PieceSearch] = OrderedDict()
        self._windows_of_index: OrderedDict[Path, WindowSearch] = OrderedDict()
        self._until: int | None = None
        self._by_windows = False

    def as_of(self, last_vector: int) -> VectorSemantics:
        """Return a view in which the vectors up to the one of an id count, and no others; 0: none."""
        view = copy.copy(self)
        view._until = last_vector
        return view

    def with_windows(self) -> VectorSemantics:
        """Return a view in which the best of all windows of a chunk counts, as far as they are embedded."""
        view = copy.copy(self)
        view._by_windows = True
        return view

    def embed_first(self, query: str, pieces: Sequence[Piece], read: ReadLines, patience_s: float) -> None:
        """Have the pieces embedded that have no vector, in order, as far as `patience_s` allows.

        Those that are left are embedded behind the question, before all others; so are all where two other questions
        have their pieces embedded meanwhile. Pieces that a vector store is to be asked for are left alone: it takes
        them in later.
        """
        if self._stored is not None or patience_s <= 0:
            return
        deadline_s = time.monotonic() + patience_s
        if not self._turns.acquire(timeout=patience_s):
            self._cache.want_first(dict(self._missing(pieces, read)))
            return
        try:
            left = self._missing(pieces, read)
            remaining_s = deadline_s - time.monotonic()
            if left and remaining_s > 0 and self._query_vector(query, remaining_s) is not None:
                self._embed_until(left, deadline_s)
            else:
                self._cache.want_first(dict(left))
        finally:
            self._turns.release()

    def _missing(self, pieces: Sequence[Piece], read: ReadLines) -> list[tuple[bytes, str]]:
        """Return the key and the text of each piece without a vector, in order."""
        known = self._cache.ids([piece.key for piece in pieces])
        missing = [piece for piece in pieces if piece.key not in known]
        texts = {piece.key: piece.text(lines) for piece in missing if (lines := read(piece.file)) is not None}
        # A file that has changed since gives other texts: the next refresh sees to them.
        return [(key, text) for key, text in texts.items() if piece_key(text) == key]

    def _embed_until(self, left: list[tuple[bytes, str]], deadline_s: float) -> None:
        """Make vectors until a deadline, and have the others made behind the question."""
        try:
            while left and (remaining_s := deadline_s - time.monotonic()) > 0:
                self._make(dict(left[:EMBEDDED_AT_ONCE]), remaining_s)
                left = left[EMBEDDED_AT_ONCE:]
        except MachineError as error:
            log.info("embeddings.patience_ended", extra={"left": len(left), "error": error.message})
        self._cache.want_first(dict(left))

    def fix(self, index: IndexReader, query: str) -> int:
        """Return what a run passes to `as_of` throughout: 0 if nothing can be compared with a question now."""
        vectors = self._vectors_of(index)
        newest = vectors.newest(index)
        counted = vectors.counted(index, newest)
        patience_s = STARTING_PATIENCE_S if counted.share < MOST_READY else LOADED_PATIENCE_S
        return newest if counted.ready > 0 and self._query_vector(query, patience_s) is not None else 0

    def similarities(self, query: str, texts: Sequence[str], *, wait: bool) -> list[float | None] | None:
        """Return the cosine of the query and each text, -1 to 1, None for a text without a vector.

        With `wait`, missing vectors are made first. None if no text has one, or if embedding fails.
        """
        if not texts:
            return []
        if self._stored is not None and self._until is not None:
            return None  # numbers of the store, which `cosines` and `nearest` are asked by
        wanted = {piece_key(text): text for text in texts}
        vectors = self._find(list(wanted)) if self._until is None else self._cache.get(list(wanted), until=self._until)
        missing = {key: text for key, text in wanted.items() if key not in vectors}
        if missing and wait:
            made = self._made(missing, WAITING_PATIENCE_S)
            if made is None:
                return None
            vectors |= made
        elif missing:
            self._cache.want_first(missing)
        at = self._query_vector(query, self._patience_s(wait)) if vectors else None
        if at is None:
            return None
        found = [vectors.get(piece_key(text)) for text in texts]
        return [None if vector is None or not vector.any() else float(at @ vector) for vector in found]

    def nearest(
        self,
        index: IndexReader,
        query: str,
        limit: int,
        *,
        passages: bool = False,
        files: Sequence[int] | None = None,
        wait: bool = False,
    ) -> list[Near] | None:
        """Return the chunks, or the passages, nearest to a query, best first.

        None if nothing in the index has a vector, or if embedding fails. Pieces without a vector are left out; `files`:
        the ids of the files to look in. With `wait`, a slow embedder is waited for, not the vectors of all pieces.
        """
        vectors = self._vectors_of(index)
        if not vectors.counted(index, self._until).share:
            return None
        at = self._query_vector(query, self._patience_s(wait))
        if at is None:
            return None
        found = vectors.nearest(index, at, limit, passages=passages, files=files, until=self._until)
        if passages or not self._by_windows:
            return found
        further = self._further(index).nearest(index, at, limit, files=files, until=self._until)
        return best_of((*found, *further))[:limit]

    def cosines(
        self, index: IndexReader, query: str, chunk_ids: Sequence[int], *, wait: bool = False
    ) -> dict[int, float] | None:
        """Return the cosine of a query and each of the chunks that have a vector; None if embedding fails."""
        if self._until == 0:
            return None
        at = self._query_vector(query, self._patience_s(wait))
        if at is None:
            return None
        found = self._vectors_of(index).cosines(index, at, chunk_ids, until=self._until)
        if not self._by_windows:
            return found
        further = self.windows(index, query, chunk_ids, wait=wait) or {}
        return {number: max(cosine, further.get(number, cosine)) for number, cosine in found.items()}

    def windows(
        self, index: IndexReader, query: str, chunk_ids: Sequence[int], *, wait: bool = False
    ) -> dict[int, float] | None:
        """Return the cosine of a query and the best further window of each chunk that has any; None if that fails."""
        at = None if self._until == 0 else self._query_vector(query, self._patience_s(wait))
        return None if at is None else self._further(index).cosines(index, at, chunk_ids, until=self._until)

    def scores(self, query: str, texts: Sequence[str], *, wait: bool = False) -> list[float] | None:
        """Return how well each text answers a query, read together with it; None if that fails or nothing reads."""
        if self._scores is None or self._until == 0:
            return None
        return self._scores.of(query, texts, self._patience_s(wait))

    def counted(self, index: IndexReader) -> VectorCount:
        """Count the pieces of an index that have a vector or can get none, and all."""
        return self._vectors_of(index).counted(index, self._until)

    def ready(self, index: IndexReader) -> float:
        """Return the share of the pieces of an index that have a vector or can get none, 0 to 1."""
        return self.counted(index).share

    def fault(self, index: IndexReader) -> str | None:
        """Return why the pieces of an index cannot be compared, if that is because of a fault of the vector store."""
        return self._vectors_of(index).fault()

    def close(self) -> None:
        """Close the files of the vectors."""
        for vectors in self._of_index.values():
            vectors.close()
        for windows in self._windows_of_index.values():
            windows.close()
        self._cache.close()

    def _patience_s(self, wait: bool) -> float:
        if wait:
            return WAITING_PATIENCE_S
        return PATIENCE_S if self._until is None else PROMISED_PATIENCE_S

    def _vectors_of(self, index: IndexReader) -> PieceSearch:
        with self._guard:
            return _held(self._of_index, index, self._pieces)

    def _further(self, index: IndexReader) -> WindowSearch:
        with self._guard:
            return _held(self._windows_of_index, index, self._windows)

    def _pieces(self) -> PieceSearch:
        return PieceVectors(self._cache) if self._stored is None else StoredPieces(self._cache, self._stored)

    def _windows(self) -> WindowSearch:
        return WindowVectors(self._cache) if self._stored is None else StoredWindows(self._cache, self._stored)

    def _query_vector(self, query: str, patience_s: float) -> Vectors | None:
        key = piece_key(query)
        found = self._find([key]) or self._made({key: query}, patience_s)
        return found[key] if found is not None and found[key].any() else None

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        with self._guard:
            found = {key: self._known[key] for key in keys if key in self._known}
            for key in found:
                self._known.move_to_end(key)
        stored = self._cache.get([key for key in keys if key not in found])
        self._remember(stored)
        return found | stored

    def _made(self, texts: dict[bytes, str], patience_s: float) -> dict[bytes, Vectors] | None:
        """Return vectors made now, which are also kept; None if that fails: then words alone count."""
        try:
            return self._make(texts, patience_s)
        except Exception:
            log.exception("embeddings.failed", extra={"texts": len(texts)})
            return None

    def _make(self, texts: dict[bytes, str], patience_s: float) -> dict[bytes, Vectors]:
        rows = self._embed(list(texts.values()), patience_s)
        made = {key: as_kept(row) for key, row in zip(texts, rows, strict=True)}
        self._cache.put(made)
        self._remember(made)
        return made

    def _remember(self, vectors: dict[bytes, Vectors]) -> None:
        with self._guard:
            self._known.update(vectors)
            while len(self._known) > MAX_IN_MEMORY:
                self._known.popitem(last=False)


def _held(of_index: OrderedDict[Path, T], index: IndexReader, made: Callable[[], T]) -> T:
    """Return the vectors of an index, made if they are not held; those of the index used longest ago go."""
    if index.path not in of_index:
        of_index[index.path] = made()
    of_index.move_to_end(index.path)
    while len(of_index) > MAX_INDEXES:
        of_index.popitem(last=False)
    return of_index[index.path]
