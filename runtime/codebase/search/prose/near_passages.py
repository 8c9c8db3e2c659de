"""Finds the passages near in meaning to a question, by the lines in which they stand.

A documentation string or comment says more plainly than the code around it what that code is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.language_parts.language import PathKind

MAX_PASSAGES = 200


class NearestPassages(Protocol):
    """Finds the passages of one index that are nearest to one question."""

    def nearest(self, limit: int, *, passages: bool) -> Sequence[tuple[int, float]] | None:
        """Return the ids and cosines of the nearest passages, best first; None if nothing can be compared."""
        ...


@dataclass(frozen=True, slots=True)
class NearPassages:
    """Holds the first line, last line and cosine of each near passage, by file."""

    spans: Mapping[str, Sequence[tuple[int, int, float]]] = field(default_factory=dict)

    def within(self, hit: ChunkHit) -> float | None:
        """Return the greatest cosine of the passages that share lines with a piece; None without any."""
        spans = self.spans.get(hit.file, ())
        return max(
            (near for start, end, near in spans if start <= hit.end_line and hit.start_line <= end), default=None
        )


NO_PASSAGES = NearPassages()


def near_passages(index: IndexReader, meaning: NearestPassages, kinds: frozenset[PathKind]) -> NearPassages:
    """Return the passages of code and documents among the 200 nearest, and those of files of the given kinds."""
    cosines = dict(meaning.nearest(MAX_PASSAGES, passages=True) or ())
    sql = f"""SELECT p.id, f.path, p.start_line, p.end_line FROM passages p JOIN files f ON f.id = p.file_id
        WHERE p.id IN ({", ".join("?" * len(cosines))}) ORDER BY p.id"""
    spans: dict[str, list[tuple[int, int, float]]] = {}
    for number, file, start, end in index.rows(sql, list(cosines)):
        if kind_of_path(file) in kinds | {"source", "docs"}:
            spans.setdefault(file, []).append((start, end, cosines[number]))
    return NearPassages(spans)
