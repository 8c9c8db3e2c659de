"""Estimates how far an answer in words can be trusted, 0 to 1, from its places and from what occurs nowhere.

The estimate is a product: the probability that the repository has what is asked about, and the probability that the
answer then tells some of it or leads to it. Both are logistic models over features, all of which raise the confidence;
with vectors, how near the places are in meaning counts as well, by weights of their own. tests/ranking/confidence.py
fits them, and docs/answers.md says on what and how well.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.search.absence import Absence

# Below this an answer begins with «I did not find this».
ENOUGH = 0.5
# From this on an answer does not speak of its confidence.
HIGH = 0.75
TOP_PLACES = 3
# The most that is given where a distinctive word of the question occurs nowhere.
MOST_IF_ABSENT = 0.45
# A word that is missing tells half as much in a repository of so many pieces as in one without end.
PIECES_OF_HALF = 10
FILE = Path(__file__).parent / "confidence.json"
# The features of each model, and those that both have with vectors.
THERE = ("present", "known", "together")
HELPS = ("top_share",)
FEATURES = (*HELPS, *THERE)
BY_MEANING = ("near", "apart")
WITH_VECTORS = "_with_vectors"
MAX_NEAREST = 5
# While fewer pieces of the repository have a vector, the nearest ones may be among those without.
LEAST_COMPARED = 0.5

# The least confidence of an answer that proves the value of a name which covers what the question asks for.
WITH_PROVEN_VALUE = 0.8
PROVEN_VALUE = "proven_value"

Weights = Mapping[str, Mapping[str, float]]


def features_of(places: Sequence[Place], absence: Absence | None) -> dict[str, float]:
    """Return the features of an answer, each 0 to 1; all 0 without places.

    `top_share`: the most of the question's weight that one of the first three places covers; `present`: 0 if a
    distinctive word of the question occurs nowhere, or only aside; `known`: the share of its informative words that
    occur; `together`: the share of its neighbouring words that occur near each other. The last two count less in a
    small repository, which lacks many words of English.
    """
    if not places:
        return dict.fromkeys(FEATURES, 0.0)
    size = absence.pieces / (absence.pieces + PIECES_OF_HALF) if absence is not None else 0.0
    excerpts = [place.fact.excerpt for place in places[:TOP_PLACES] if place.fact.excerpt is not None]
    absence = absence or Absence()
    return {
        "top_share": max((excerpt.share for excerpt in excerpts), default=0.0),
        "present": float(not absence.nowhere and not absence.aside),
        "known": 1 - size * absence.unknown,
        "together": 1 - size * (1 - absence.together),
    }


def features_of_meaning(facts: Sequence[CodeFact], compared: float | None) -> dict[str, float]:
    """Return the features by meaning; none without enough vectors.

    `near`: the mean of the five greatest cosines of what was found; `apart`: how far that is above the mean of all
    places, since a vague question is somewhat near to everything. `compared`: the share of the repository's pieces that
    could be compared.
    """
    if compared is None or compared < LEAST_COMPARED:
        return {}
    cosines = {fact.place: fact.cosine for fact in facts if fact.cosine is not None}
    of_places = [fact.cosine for fact in facts if fact.cosine is not None and fact.kind != "passage"]
    if not of_places:
        return {}
    nearest = sorted(cosines.values(), reverse=True)[:MAX_NEAREST]
    near, usual = sum(nearest) / len(nearest), sum(of_places) / len(of_places)
    return {"near": max(0.0, near), "apart": max(0.0, near - usual)}


def features_of_values(facts: Sequence[CodeFact]) -> dict[str, float]:
    """Return the feature of an answer that proves a value; none without one."""
    return {PROVEN_VALUE: 1.0} if any(fact.value is not None and fact.value.is_proven for fact in facts) else {}


def confidence_in(features: Mapping[str, float], weights: Weights | None = None) -> float:
    """Return the confidence that features give, 0 to 1, on two digits; 0 without places.

    `weights`: those of the models; by default the fitted ones.
    """
    if not any(features.values()):
        return 0.0
    weights = weights or weights_of_models()
    by = WITH_VECTORS if BY_MEANING[0] in features else ""
    value = _probability(weights[f"there{by}"], features) * _probability(weights[f"helps{by}"], features)
    if features.get("present", 1.0) < 1:
        return round(min(value, MOST_IF_ABSENT), 2)
    return round(max(value, WITH_PROVEN_VALUE) if features.get(PROVEN_VALUE) else value, 2)


@functools.cache
def weights_of_models() -> Weights:
    """Return the weights of the models, `there` and `helps`, with and without vectors, each with an `intercept`."""
    found: Weights = json.loads(FILE.read_text(encoding="utf-8"))["weights"]
    return found


def level(confidence: float) -> Literal["low", "medium", "high"]:
    """Return a confidence in a word."""
    return "low" if confidence < ENOUGH else "medium" if confidence < HIGH else "high"


def _probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    total = sum(weight * features.get(name, 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-total))
