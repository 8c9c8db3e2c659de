"""Cites the lines that mention a question's distinctive words where nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.presence.absence import Mention, absence_of
from runtime.codebase.tool_parts.citing import cite

# One piece may be near by chance.
MAX_NEAREST = 5


def absent_words(codebase: Codebase, question: str, *, wait: bool = False) -> tuple[dict[str, Any], list[Citation]]:
    """Return what of a question occurs nowhere or only aside (`search.absence.Absence`), with a citation per mention.

    A mention whose file no longer has the word is left out. With `wait`, a slow embedder is waited for.
    """
    found = absence_of(codebase.index, question, codebase.root.name)
    cited = [(mention, _citation(codebase, mention)) for mention in found.aside]
    kept = [(mention, citation) for mention, citation in cited if citation is not None]
    found = msgspec.structs.replace(
        found, aside=tuple(mention for mention, _ in kept), near=_nearness(codebase, question, wait=wait)
    )
    return msgspec.to_builtins(found), [citation for _, citation in kept]


def _nearness(codebase: Codebase, question: str, *, wait: bool) -> float | None:
    """Return the mean of the greatest cosines of the pieces and a question; None where none can be compared."""
    if codebase.semantics is None:
        return None
    nearest = codebase.semantics.nearest(codebase.index, question, MAX_NEAREST, wait=wait)
    return round(sum(cosine for _, cosine in nearest) / len(nearest), 4) if nearest else None


def _citation(codebase: Codebase, mention: Mention) -> Citation | None:
    source = codebase.try_source(mention.file)
    lines = source.lines[mention.start_line - 1 : mention.end_line] if source else []
    place = _first_with(index_terms(mention.word).partition(" ")[0], lines)
    if place is None:
        return None
    line = mention.start_line + place
    return cite(codebase, mention.file, line, line, why=f"mentions {mention.word}")


def _first_with(term: str, lines: Sequence[str]) -> int | None:
    return next((place for place, line in enumerate(lines) if term in index_terms(line).split()), None)
