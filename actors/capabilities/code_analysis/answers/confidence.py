"""Estimates how far an answer in words can be trusted, 0 to 1, from what its places have of the question.

Fitted by logistic regression on 175 questions about 25 repositories whose right places people marked, seven of them
about what is not there (docs/answers.md): the value is the share of such answers that told at least a third of what
they had to, or led to the deciding place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.ranking.answer_order import Place

# Below this an answer begins with «I did not find this».
ENOUGH = 0.5
TOP_PLACES = 3

# The share that the lead or a sentence covers, and how far the first place is ahead, told nothing more in the fit.
# The least confidence of an answer that proves the value of a name which covers what the question asks for.
WITH_PROVEN_VALUE = 0.8
PROVEN_VALUE = "proven_value"
INTERCEPT = -1.08
WEIGHTS: Mapping[str, float] = {"top_share": 4.51}


def features_of(places: Sequence[Place]) -> dict[str, float]:
    """Return the features of the places of an answer; all 0 without places.

    `top_share`: the most of the question's weight that one of the first three places covers, 0 to 1.
    """
    excerpts = [place.fact.excerpt for place in places[:TOP_PLACES] if place.fact.excerpt is not None]
    return {"top_share": max((excerpt.share for excerpt in excerpts), default=0.0)}


def features_of_values(facts: Sequence[Fact]) -> dict[str, float]:
    """Return the feature of an answer that proves a value; none without one."""
    return {PROVEN_VALUE: 1.0} if any(fact.value is not None and fact.value.is_proven for fact in facts) else {}


def confidence_in(features: Mapping[str, float]) -> float:
    """Return the confidence that features give, 0 to 1, on two digits."""
    if not any(features.values()):
        return 0.0
    fitted = INTERCEPT + sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    least = WITH_PROVEN_VALUE if features.get(PROVEN_VALUE) else 0.0
    return max(least, round(1 / (1 + math.exp(-fitted)), 2))
