"""Explains the order of a search: what each feature of a candidate added to its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.features import FEATURES, features
from runtime.codebase.search.gathering import Meaning, gather
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.ranker import State, ranker
from runtime.codebase.search.second_reading import gains, readings
from runtime.codebase.search.shape_gains import shape_gains

# feature → its value, and its value times its weight: what it adds to the score before the scores are scaled.
Contributions = Mapping[str, tuple[float, float]]
# What its shape, and reading a piece together with the question add; they have no weight of their own.
SHAPED, READING = "shape", "second_reading"


@dataclass(frozen=True, slots=True)
class ExplainedOrder:
    """Holds what made the order of the candidates of a question; `ranker` is None where there are none."""

    ranker: State | None = None
    by_piece: Mapping[str, list[tuple[ChunkHit, Contributions]]] = field(default_factory=dict)

    def of(self, file: str, start_line: int, end_line: int) -> Contributions:
        """Return what counted for the piece that shares most lines with a place; empty where no candidate does."""
        shared = [
            (min(hit.end_line, end_line) - max(hit.start_line, start_line) + 1, contributions)
            for hit, contributions in self.by_piece.get(file, ())
        ]
        best = max(shared, key=lambda one: one[0], default=(0, {}))
        return best[1] if best[0] > 0 else {}


def explained_order(
    index: IndexReader, query: str, meaning: Meaning | None = None, read: ReadSource | None = None
) -> ExplainedOrder:
    """Return what each feature adds to the score of each candidate for a question, without features that add nothing.

    The candidates, the ranker and the features are those of `rank_chunks` for the same index, vectors and question.
    """
    gathered = gather(index, lines_about_code(query, index.defined_names), None, meaning)
    if gathered is None:
        return ExplainedOrder()
    by = ranker(gathered.state, by_likeness=gathered.by_likeness)
    rows = features(gathered.asked, gathered.candidates)
    sums = by.sums(rows)
    shaped = shape_gains(gathered, sums, read)
    sums = [found + shaped.get(place, 0.0) for place, found in enumerate(sums)]
    more = ((SHAPED, shaped), (READING, gains(readings(gathered, sums, meaning))))
    found: dict[str, list[tuple[ChunkHit, Contributions]]] = {}
    for place, (candidate, values) in enumerate(zip(gathered.candidates, rows, strict=True)):
        measured = zip(FEATURES, values, by.weights, strict=True)
        added = {
            name: (round(value, 4), round(value * weight, 4)) for name, value, weight in measured if value * weight
        }
        for name, gained in more:
            if gained.get(place):
                added[name] = (round(gained[place], 4), round(gained[place], 4))
        found.setdefault(candidate.words.hit.file, []).append((candidate.words.hit, added))
    return ExplainedOrder(by.state, found)
