"""Orders the places that answer a question in words: as the searches ranked them, whole question first.

A place found by the whole question counts most, one found by a part of it or by a name less, and each further search
that found it adds a little. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Purpose

PURPOSE_WEIGHTS: Mapping[Purpose, float] = {"answer": 1.0, "find": 0.8, "part": 0.7}
AGAIN_BONUS = 0.15
# What the ids of the steps begin with that search for a part of a question; a digit follows.
PART = "part"
# Of a file, so many places count where places are compared, and so many more may be told.
MAX_PER_FILE, MAX_TOLD_PER_FILE = 3, 5


class Place(msgspec.Struct, frozen=True):
    """Holds a place with its score, 0 upwards; `fact` is that of the best search that found it."""

    fact: CodeFact
    score: float

    @property
    def is_prose(self) -> bool:
        """True for a section of a document."""
        return self.fact.symbol_kind == "section"


def in_answer_order(facts: Iterable[CodeFact], most_per_file: int = MAX_PER_FILE) -> list[Place]:
    """Return the places that searches for an answer found, best first; overlapping lines of a file count once."""
    best: dict[tuple[str, int], Place] = {}
    for fact in facts:
        weight = PURPOSE_WEIGHTS.get(fact.purpose or "find", 0.0)
        if not weight or fact.kind not in {"definition", "excerpt"}:
            continue
        score = weight * fact.score + AGAIN_BONUS * len(fact.also_by)
        key = (fact.citation.file, fact.citation.start_line)
        if key not in best or score > best[key].score:
            best[key] = Place(fact, score)
    ranked = sorted(best.values(), key=lambda place: (-place.score, *place.fact.place))
    return _apart(ranked, most_per_file)


def _apart(ranked: Sequence[Place], most_per_file: int) -> list[Place]:
    """Drop places that lie within a better one, and further places of a file that has enough of them already."""
    kept: list[Place] = []
    for place in ranked:
        of_file = [other for other in kept if other.fact.citation.file == place.fact.citation.file]
        if len(of_file) < most_per_file and not any(_overlap(place.fact, other.fact) for other in of_file):
            kept.append(place)
    return kept


def _overlap(one: CodeFact, other: CodeFact) -> bool:
    first, second = one.citation, other.citation
    return first.start_line <= second.end_line and second.start_line <= first.end_line
