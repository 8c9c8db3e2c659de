"""Measures the similarity in meaning of code and a question, by embeddings made on demand.

`open_semantics(path)` returns None without the packages of the model. Only chunks that the search by words ranks first
are ever embedded, never a whole repository. A caller that cannot wait gets None while vectors are missing; they are
made in the background, and `progress()` reports how far that is.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from runtime.codebase.semantics.model_file import missing_packages

NOTED_WITHIN_S = 30.0


class Semantics(Protocol):
    """Computes similarities; one object serves several threads."""

    def similarities(self, query: str, texts: Sequence[str], *, wait: bool) -> list[float] | None:
        """Return the cosine of the query and each text, -1 to 1; None if vectors are missing and `wait` is false."""
        ...

    def progress(self) -> tuple[int, int]:
        """Return the number of vectors made so far, and that number plus the texts still waiting."""
        ...

    def close(self) -> None:
        """Stop making vectors; those that are made are kept."""
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
            (kept,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            made, wanted = connection.execute(
                "SELECT coalesce(sum(made), 0), coalesce(sum(total), 0) FROM progress WHERE noted_s > ?", (since_s,)
            ).fetchone()
    except sqlite3.Error:
        return VectorState(0, 0, 0)
    return VectorState(kept, made, wanted)


def is_installed() -> bool:
    """Return True if the packages of the sentence model are installed; its file is checked when it is loaded."""
    return not missing_packages()


def open_semantics(path: Path) -> Semantics | None:
    """Open semantics with the vectors kept at `path`; None without its packages. Loads no model yet."""
    if not is_installed():
        return None
    from runtime.codebase.semantics.embedding import shared_embedder
    from runtime.codebase.semantics.vector_cache import VectorCache
    from runtime.codebase.semantics.vector_semantics import VectorSemantics

    return VectorSemantics(shared_embedder(), VectorCache(path))
