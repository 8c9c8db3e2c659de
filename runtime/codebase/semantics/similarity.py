"""Measures the similarity in meaning of code and a question, by embeddings.

`open_semantics(path)` returns None without the packages of the model. Vectors of all pieces of an index are made by a
process of their own (`embedding_process`) and kept by the hash of their text; a question uses those that are there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.piece_order import Piece
from runtime.codebase.semantics.sentence_model.model_file import missing_packages

NOTED_WITHIN_S = 30.0
# Lists of windows, which are kept beside the vectors, have at most half of that.
LEAST_VECTOR_BYTES = 384

# Returns the lines of a file, None if it cannot be read.
ReadLines = Callable[[str], Sequence[str] | None]


class Semantics(Protocol):
    """Computes similarities; one object serves several threads."""

    def similarities(self, query: str, texts: Sequence[str], *, wait: bool) -> list[float | None] | None:
        """Return the cosine of the query and each text, -1 to 1, None for a text without a vector.

        With `wait`, missing vectors are made first. None if no text has one, or if embedding fails.
        """
        ...

    def nearest(
        self,
        index: IndexReader,
        query: str,
        limit: int,
        *,
        passages: bool = False,
        files: Sequence[int] | None = None,
        wait: bool = False,
    ) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest chunks, or passages, best first; None if nothing is comparable."""
        ...

    def cosines(
        self, index: IndexReader, query: str, chunk_ids: Sequence[int], *, wait: bool = False
    ) -> dict[int, float] | None:
        """Return the cosine of a query and each of the chunks that have a vector; None if embedding fails."""
        ...

    def windows(
        self, index: IndexReader, query: str, chunk_ids: Sequence[int], *, wait: bool = False
    ) -> dict[int, float] | None:
        """Return the cosine of a query and the best further window of each chunk that has any; None if that fails."""
        ...

    def scores(self, query: str, texts: Sequence[str], *, wait: bool = False) -> list[float] | None:
        """Return how well each text answers a query, read together with it; None if that fails or nothing reads.

        Only differences between the texts of one query mean anything.
        """
        ...

    def ready(self, index: IndexReader) -> float:
        """Return the share of the pieces of an index that have a vector or can get none, 0 to 1."""
        ...

    def counted(self, index: IndexReader) -> tuple[int, int]:
        """Count the pieces of an index that have a vector or can get none, and all."""
        ...

    def embed_first(self, query: str, pieces: Sequence[Piece], read: ReadLines, patience_s: float) -> None:
        """Have the pieces embedded that have no vector, in order, as far as `patience_s` allows."""
        ...

    def fix(self, index: IndexReader, query: str) -> int:
        """Return what a run passes to `as_of` throughout: 0 if nothing can be compared with a question now."""
        ...

    def as_of(self, last_vector: int) -> Semantics:
        """Return a view in which the vectors up to the one of an id count, and no others; 0: none."""
        ...

    def with_windows(self) -> Semantics:
        """Return a view in which the best of all windows of a chunk counts, as far as they are embedded."""
        ...

    def fault(self, index: IndexReader) -> str | None:
        """Return why the pieces of an index cannot be compared, if that is because of a fault of the vector store."""
        ...

    def close(self) -> None:
        """Release the file of the vectors, which stay."""
        ...


class VectorState(NamedTuple):
    """Counts the vectors kept, and of those that processes are making now, the vectors made and wanted."""

    kept: int
    made: int
    wanted: int


def vector_state(path: Path, *, now_s: float | None = None) -> VectorState:
    """Read the state of a cache file; zeros without one. A process with no note in 30 seconds is taken as gone."""
    since_s = (time.time() if now_s is None else now_s) - NOTED_WITHIN_S
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            query = "SELECT count(*) FROM vectors WHERE length(vector) > ?"
            (kept,) = connection.execute(query, (LEAST_VECTOR_BYTES,)).fetchone()
            made, wanted = connection.execute(
                "SELECT coalesce(sum(made), 0), coalesce(sum(total), 0) FROM progress WHERE noted_s > ?", (since_s,)
            ).fetchone()
    except sqlite3.Error:
        # Not made yet, or a moment before its tables are; who opens it to write reports one that is damaged.
        return VectorState(0, 0, 0)
    return VectorState(kept, made, wanted)


def is_installed() -> bool:
    """Return True if the packages of the sentence model are installed; its file is checked when it is loaded."""
    return not missing_packages()


def open_semantics(path: Path, *, here: bool = False, store: VectorStoreKind = "sqlite") -> Semantics | None:
    """Open semantics with the vectors kept at `path`; None without its packages. Loads no model yet.

    Vectors are made by the process that listens in the folder of `path`; with `here`, by this process. `store`: where
    the pieces of indexes are looked up; a store beside `path`, or the cache itself, which is faster than any.
    """
    if not is_installed():
        return None
    from runtime.codebase.semantics.cross_encoding.cross_encoder import shared_cross_encoder
    from runtime.codebase.semantics.embedding import shared_embedder
    from runtime.codebase.semantics.embedding_socket import SocketEmbedder
    from runtime.codebase.semantics.forest_entries import chroma_pieces
    from runtime.codebase.semantics.vector_cache import VectorCache
    from runtime.codebase.semantics.vector_semantics import VectorSemantics

    stored = chroma_pieces(path.parent) if store == "chroma" else None
    if here:
        return VectorSemantics(
            lambda texts, _patience_s: shared_embedder().embed(texts),
            VectorCache(path),
            stored,
            lambda question, texts, _patience_s: shared_cross_encoder().scores(question, texts),
        )
    models = SocketEmbedder(path.parent)
    return VectorSemantics(models.embed, VectorCache(path), stored, models.scores)
