"""Estimates how far an answer in words can be trusted, 0 to 1, from what its places have of the question.

Fitted by logistic regression on 175 questions about 25 repositories whose right places people marked, seven of them
about what is not there (docs/answers.md): the value is the share of such answers that told at least a third of what
they had to, or led to the deciding place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.ranking.answer_order import Place

# Below this an answer begins with «I did not find this».
ENOUGH = 0.5
TOP_PLACES = 3

# The share that the lead or a sentence covers, and how far the first place is ahead, told nothing more in the fit.
INTERCEPT = -1.08
WEIGHTS: Mapping[str, float] = {"top_share": 4.51}


def features_of(places: Sequence[Place]) -> dict[str, float]:
    """Return the features of the places of an answer; all 0 without places.

    `top_share`: the most of the question's weight that one of the first three places covers, 0 to 1.
    """
    excerpts = [place.fact.excerpt for place in places[:TOP_PLACES] if place.fact.excerpt is not None]
    return {"top_share": max((excerpt.share for excerpt in excerpts), default=0.0)}


def confidence_in(features: Mapping[str, float]) -> float:
    """Return the confidence that features give, 0 to 1, on two digits."""
    if not any(features.values()):
        return 0.0
    return round(1 / (1 + math.exp(-INTERCEPT - sum(WEIGHTS[name] * value for name, value in features.items()))), 2)
