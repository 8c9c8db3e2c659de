"""Measures orders of candidates: does a right place lead, how much of what must be told is there, with intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from runtime.codebase.search.features import FEATURES
from runtime.codebase.search.fusion import MAX_JOINED_PER_FILE_IN_FRONT, Scored, joined, spread, widened
from tests.ranking.cases import Case, Place
from tests.ranking.examples import Example
from tests.ranking.listwise import fit

FOLDS = 5
FOLD_SEED = 3
RESAMPLES = 2_000
FIRST = 8
FIGURES = ("first", "first 3", "first 8", "told")

Figures = Mapping[str, float]


def figures(case: Case, places: Sequence[Place]) -> Figures:
    """Return 1 or 0 for a leading place among the first 1, 3 and 8, and the share of nuggets that the first 8 show."""
    rank = next(
        (rank for rank, place in enumerate(places) if any(lead.meets(*_span(place)) for lead in case.lead)), len(places)
    )
    shown = [
        any(part.meets(*_span(place)) for place in places[:FIRST] for part in nugget.any_place)
        for nugget in case.nuggets
    ]
    hits = {f"first{'' if most == 1 else f' {most}'}": float(rank < min(most, len(places))) for most in (1, 3, FIRST)}
    return {**hits, "told": sum(shown) / len(shown) if shown else 0.0}


def by_marks(example: Example, scores: Sequence[float]) -> Figures:
    """Return the figures of an order of pieces, each judged by the 24 lines that share most with the question."""
    marks = {(hit.file, hit.start_line): mark for hit, mark in zip(example.hits, example.marks, strict=True)}
    order = spread(_ranked(example, scores))
    return figures(example.case, [marks[hit.file, hit.start_line] for _, hit in order])


def by_joined(example: Example, scores: Sequence[float]) -> Figures:
    """Return the figures of the places that `locate` reports: neighbouring pieces joined, up to 80 lines each."""
    order = widened(spread(joined(_ranked(example, scores)), MAX_JOINED_PER_FILE_IN_FRONT))
    return figures(example.case, [Place(hit.file, hit.start_line, hit.end_line) for _, hit in order])


def held_out(examples: Sequence[Example], names: Sequence[str]) -> list[list[float]]:
    """Return the scores of each example by weights that were fitted without its repository's fold."""
    scores: list[list[float]] = [[] for _ in examples]
    for repositories in folds(examples):
        weights = fit([example for example in examples if example.case.repo not in repositories], names)
        for place, example in enumerate(examples):
            if example.case.repo in repositories:
                scores[place] = scored(example, weights)
    return scores


def scored(example: Example, weights: Mapping[str, float]) -> list[float]:
    """Return the score of each candidate."""
    return [float(found) for found in example.rows @ [weights.get(name, 0.0) for name in FEATURES]]


def folds(examples: Sequence[Example]) -> list[set[str]]:
    """Return the repositories in five groups, the same for the same repositories."""
    repositories = sorted({example.case.repo for example in examples})
    random.Random(FOLD_SEED).shuffle(repositories)
    return [set(repositories[fold::FOLDS]) for fold in range(FOLDS)]


def mean(rows: Sequence[Figures], name: str) -> float:
    """Return the mean of a figure, per cent."""
    return 100 * sum(row[name] for row in rows) / len(rows)


def interval(
    examples: Sequence[Example], ours: Sequence[Figures], others: Sequence[Figures], name: str
) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference, per cent, with repositories drawn again."""
    by_repository: dict[str, list[float]] = {}
    for example, our, other in zip(examples, ours, others, strict=True):
        by_repository.setdefault(example.case.repo, []).append(our[name] - other[name])
    draw = random.Random(1)
    means = []
    for _ in range(RESAMPLES):
        drawn = [off for found in draw.choices(list(by_repository.values()), k=len(by_repository)) for off in found]
        means.append(100 * sum(drawn) / len(drawn))
    means.sort()
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


Measure = Callable[[Example, Sequence[float]], Figures]


def _ranked(example: Example, scores: Sequence[float]) -> list[Scored]:
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [(scores[place], example.hits[place]) for place in order]


def _span(place: Place) -> tuple[str, int, int]:
    return place.file, place.start, place.end
