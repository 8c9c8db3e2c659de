"""Makes examples for a ranker of cases: features of each candidate, and how well it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.features import features
from runtime.codebase.search.gathering import Meaning, gather
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.ranker import State
from tests.ranking.cases import Case, Place

# A mark has at most so many lines; a longer piece is judged by those that share most with the question.
MARK_LINES = 24
REPEATED_SHARE = 0.15
LEAD_GAIN, FURTHER_GAIN = 2.0, 1.0

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """Holds the candidates of one case: their features, their marks, and their gains."""

    case: Case
    hits: list[ChunkHit]
    marks: list[Place]
    rows: Numbers
    gains: Numbers
    state: State


def open_clone(clones: Path, indexes: Path, name: str) -> Codebase:
    """Index the clone of a repository, unless it is, and open it."""
    index = indexes / f"{name}.sqlite"
    refresh(clones / name, index)
    return Codebase.open(clones / name, index)


def example(case: Case, codebase: Codebase, meaning: Meaning | None) -> Example | None:
    """Return the example of a case; None if nothing was found for it."""
    question = lines_about_code(case.question, codebase.index.defined_names)
    gathered = gather(codebase.index, question, None, meaning)
    if gathered is None or not gathered.candidates:
        return None
    hits = [candidate.words.hit for candidate in gathered.candidates]
    marks = [_mark(codebase, hit, gathered.asked.weights) for hit in hits]
    rows = np.array(features(gathered.asked, gathered.candidates), float)
    gains = np.array([_gain(case, mark) for mark in marks])
    return Example(case, hits, marks, rows, gains, gathered.state)


def _gain(case: Case, mark: Place) -> float:
    leads = any(place.meets(mark.file, mark.start, mark.end) for place in case.lead)
    told = any(place.meets(mark.file, mark.start, mark.end) for nugget in case.nuggets for place in nugget.any_place)
    return LEAD_GAIN * leads + FURTHER_GAIN * told


def _mark(codebase: Codebase, hit: ChunkHit, weights: Mapping[str, float]) -> Place:
    source = codebase.try_source(hit.file)
    lines = source.lines[hit.start_line - 1 : hit.end_line] if source else []
    start = hit.start_line + _best_window(lines, weights)
    return Place(hit.file, start, min(hit.end_line, start + MARK_LINES - 1))


def _best_window(lines: Sequence[str], weights: Mapping[str, float]) -> int:
    """Return the place of the 24 lines that share most with the question, the first of equals."""
    found = [[term for term in index_terms(line[:400]).split() if term in weights] for line in lines]
    best, best_sum = 0, -1.0
    for start in range(max(1, len(lines) - MARK_LINES + 1)):
        seen: set[str] = set()
        total = 0.0
        for term in (term for line in found[start : start + MARK_LINES] for term in line):
            total += weights[term] * (REPEATED_SHARE if term in seen else 1.0)
            seen.add(term)
        if total > best_sum + 1e-9:
            best, best_sum = start, total
    return best
