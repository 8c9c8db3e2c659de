"""Estimates how far an answer in words can be trusted, 0 to 1, from what its places have of the question.

The weights are fitted by logistic regression on questions whose right places people marked, split by repository
(docs/answers.md); the value is the share of such answers in which the deciding place was told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.ranking.answer_order import Place

# Below this an answer begins with «I did not find this».
ENOUGH = 0.5
TOP_PLACES = 3

INTERCEPT = -0.6
WEIGHTS: Mapping[str, float] = {"lead_share": 1.5, "top_share": 1.5, "said_share": 0.8, "margin": 0.4}


def features_of(places: Sequence[Place]) -> dict[str, float]:
    """Return the features of the places of an answer; all 0 without places.

    `lead_share`: the share of the question's weight that the first place covers; `top_share`: the most that one of the
    first three covers; `said_share`: the most that one sentence of them covers; `margin`: how far the first place is
    ahead of the second, 0 to 1.
    """
    excerpts = [place.fact.excerpt for place in places[:TOP_PLACES] if place.fact.excerpt is not None]
    if not excerpts:
        return dict.fromkeys(WEIGHTS, 0.0)
    scores = [place.score for place in places[:2]]
    return {
        "lead_share": excerpts[0].share,
        "top_share": max(excerpt.share for excerpt in excerpts),
        "said_share": max((excerpt.said.share for excerpt in excerpts if excerpt.said is not None), default=0.0),
        "margin": round(1 - scores[1] / scores[0], 4) if len(scores) > 1 and scores[0] > 0 else 1.0,
    }


def confidence_in(features: Mapping[str, float]) -> float:
    """Return the confidence that features give, 0 to 1, on two digits."""
    if not any(features.values()):
        return 0.0
    return round(1 / (1 + math.exp(-INTERCEPT - sum(WEIGHTS[name] * value for name, value in features.items()))), 2)
