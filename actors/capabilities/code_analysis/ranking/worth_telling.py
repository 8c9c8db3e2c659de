"""Judges which of the found places speak of the question: those that do not are better left out.

Found places share words with a question, or lie near it in meaning, and most of them answer nothing of it. A logistic
model over their order and their meaning gives the probability that a place is one that an answer needs;
tests/ranking/points.py fits it on places that people labelled.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.capabilities.code_analysis.ranking.answer_order import Place

# A further place that is needed with less than this probability is not told, by words alone and with vectors.
ENOUGH: Mapping[str, float] = {"words": 0.03, "vectors": 0.03}
LEAST_SCORE = 1e-3
FILE = Path(__file__).parent / "worth_telling.json"
FEATURES: Mapping[str, tuple[str, ...]] = {"words": ("score", "order"), "vectors": ("score", "near", "near_best")}

Weights = Mapping[str, Mapping[str, float]]


def state_of(places: Sequence[Place]) -> str:
    """Return which model judges places: `vectors` if any of them was compared by meaning, else `words`."""
    return "words" if all(place.fact.cosine is None for place in places) else "vectors"


def features_of(places: Sequence[Place]) -> list[dict[str, float]]:
    """Return the features of places, in answer order; each raises the probability.

    `score`: the logarithm of the place's score; `order`: less the more places come before it; `near`: its cosine, the
    mean of the others' for one without; `near_best`: how far that is below the greatest, at most 0.
    """
    known = [place.fact.cosine for place in places if place.fact.cosine is not None]
    usual, best = (sum(known) / len(known), max(known)) if known else (0.0, 0.0)
    near = [usual if place.fact.cosine is None else place.fact.cosine for place in places]
    return [
        {
            "score": math.log(max(LEAST_SCORE, place.score)),
            "order": -math.log(1 + number),
            "near": cosine,
            "near_best": cosine - best,
        }
        for number, (place, cosine) in enumerate(zip(places, near, strict=True))
    ]


def worth_of(places: Sequence[Place], weights: Weights | None = None) -> list[float]:
    """Return for each place, in answer order, the probability that an answer needs it."""
    model = (weights or fitted_weights())[state_of(places)]
    return [_probability(model, features) for features in features_of(places)]


def worth_telling(places: Sequence[Place]) -> list[Place]:
    """Return the places, in answer order, that an answer needs with enough probability.

    By words alone scores tell too little to leave out the first three.
    """
    state = state_of(places)
    always = 3 if state == "words" else 0
    pairs = enumerate(zip(places, worth_of(places), strict=True))
    return [place for number, (place, worth) in pairs if worth >= ENOUGH[state] or number < always]


@functools.cache
def fitted_weights() -> Weights:
    """Return the weights of both models, each with an `intercept`."""
    found: Weights = json.loads(FILE.read_text(encoding="utf-8"))["weights"]
    return found


def _probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    total = sum(weight * features.get(name, 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-total))
