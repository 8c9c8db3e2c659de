"""Orders candidates by learned weights of their features.

A ranker is a file of weights, one for each state of an index: `words` without vectors, `vectors` with them. It is
written by `make train`; docs/ranking.md says from what, and how they compare on repositories they never saw.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runtime.codebase.search.features import FEATURES

State = Literal["words", "vectors"]

# Makes scores fall as mildly as shares of matched words do: callers add to them.
MILDNESS = 4.0

_FOLDER = Path(__file__).parent / "rankers"
# By how much the weights of both rankers change where likeness counts.
LIKENESS_FILE = _FOLDER / "likeness.json"
_FILES: dict[State, str] = {"words": "words.json", "vectors": "vectors.json"}


@dataclass(frozen=True, slots=True)
class Ranker:
    """Holds the weight of each feature, in the order of `FEATURES`, and the state it was trained for."""

    state: State
    weights: tuple[float, ...]

    def sums(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return what the features of each row add up to, each times its weight."""
        return [math.fsum(map(float.__mul__, self.weights, row)) for row in rows]


def scaled(sums: Sequence[float]) -> list[float]:
    """Return the score of each sum, 1 for the best and above 0 for the others."""
    best = max(sums, default=0.0)
    return [math.exp((found - best) / MILDNESS) for found in sums]


@functools.cache
def ranker(state: State, *, by_likeness: bool = False) -> Ranker:
    """Return the ranker of a state, read once from the package.

    `by_likeness`: for questions that were compared by their terms, which moves the weights of other features as well.
    """
    weights: dict[str, float] = json.loads(weights_file(state).read_text(encoding="utf-8"))["weights"]
    if by_likeness:
        moved: dict[str, float] = json.loads(LIKENESS_FILE.read_text(encoding="utf-8"))["weights"]
        weights = {name: weights.get(name, 0.0) + moved.get(name, 0.0) for name in weights.keys() | moved.keys()}
    return ranker_from(state, weights)


def weights_file(state: State) -> Path:
    """Return the file in the package that has the weights of a ranker."""
    return _FOLDER / _FILES[state]


def ranker_from(state: State, weights: Mapping[str, float]) -> Ranker:
    """Return a ranker with the given weights; features without one count nothing. ValueError for an unknown feature."""
    unknown = weights.keys() - set(FEATURES)
    if unknown:
        raise ValueError(f"unknown features of ranker {state}: {', '.join(sorted(unknown))}; train it again")
    return Ranker(state, tuple(float(weights.get(name, 0.0)) for name in FEATURES))
