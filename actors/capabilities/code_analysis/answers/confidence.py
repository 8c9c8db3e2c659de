"""Estimates how far an answer in words can be trusted, from its places and from what occurs nowhere.

Two probabilities, 0 to 1: that the repository has what is asked about, which decides whether the answer begins with «I
did not find this», and the confidence that is told, that the answer is good: it tells most of what is needed and leads
to the deciding place. Both are logistic models over features, all of which raise them; by weights of their own where
places were read together with the question, with vectors, and, for presence, where both are so. In a small
repository words of a question are rarer and neighbours fewer, whatever it has, so its size raises presence there.
tests/ranking/confidence.py, reading_trust.py, compared_trust.py, features_asked_for.py and small_repositories.py there
fit them, and docs/answer-quality.md says how well.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.polar import feature_terms
from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.leading_place import in_leading_order
from runtime.codebase.search.presence.absence import Absence

# Below `ENOUGH` an answer begins with «I did not find this», and only below `SURELY_NOT` without «for sure».
ENOUGH = 0.5
SURELY_NOT = 0.25
# From these on a confidence is called medium, and high.
MEDIUM, HIGH = 0.35, 0.65
TOP_PLACES = 3
# The place behind the first whose score shows how far that one stands out.
COMPARED_PLACE = 4
# The most presence where a distinctive word of the question, or more of its words occur nowhere.
MOST_IF_ABSENT = 0.45
# Of the questions that it was fitted on, those with an answer have fewer words that occur nowhere, or words like them
# occur: in a small repository many words of a question occur nowhere, whatever it has.
MOST_UNKNOWN = 0.5
LEAST_SPOKEN_OF = 0.4
# A word that is missing tells half as much in a repository of so many pieces as in one without end.
PIECES_OF_HALF = 10
# A repository of so many pieces counts as half small.
PIECES_OF_HALF_SMALL = 30
FILE = Path(__file__).parent / "confidence.json"
# The features of each model, and that which presence has with vectors.
PRESENT = "present"
THERE = (PRESENT, "together", "familiar")
GOOD = ("top_share", "ahead", "proven_value")
SPOKEN_OF = "spoken_of"
# How small the repository is, which raises presence, and more if its code speaks of the question.
SMALL, SMALL_SPOKEN_OF = "small", "small_spoken_of"
IN_SMALL = "there_in_small"
FEATURES = (*GOOD, *THERE, SPOKEN_OF, SMALL, SMALL_SPOKEN_OF)
NEAR = "near"
WITH_VECTORS = "_with_vectors"
INTERCEPT = "intercept"
# Those of readings, by which models of their own go.
READING, READING_AHEAD = "reading", "reading_ahead"
WITH_READINGS = "_with_readings"
THERE_BY_READING = (*THERE, SPOKEN_OF, "top_share", READING, READING_AHEAD)
LEAD_READING, AHEAD_OF_NEXT = "lead_reading", "ahead_of_next"
GOOD_BY_READING = (LEAD_READING, AHEAD_OF_NEXT)
# What presence goes by where places were read and the pieces of the repository were compared by meaning.
WHERE_COMPARED = "_where_compared"
THERE_WHERE_COMPARED = (PRESENT, "familiar", SPOKEN_OF, "top_share", READING, LEAD_READING, "ahead")
# That of the place that leads the answer to whether there is a feature, and what presence goes by then.
LEAD_SPEAKS = "lead_speaks"
OF_FEATURE = "_of_feature"
THERE_OF_FEATURE = (*THERE, "top_share", READING, LEAD_SPEAKS)
# Of fewer places none stands out.
LEAST_READ = 3
# While fewer pieces of the repository have a vector, the nearest ones may be among those without.
LEAST_COMPARED = 0.5

# The least presence where the value of a name is proven which covers what the question asks for, and where a passage of
# documentation has all of its words.
WITH_PROVEN_VALUE = WITH_DOCUMENT = 0.8
PROVEN_VALUE, DOCUMENTED = "proven_value", "documented"
# That where a commit is told that added such a thing: the one that is to be added need not be there.
PRECEDENT, WITH_PRECEDENT = "precedent", 0.6
# That where a closed set is told that has all words of what is asked for, which is as often the one that is meant.
CHOICES, WITH_CHOICES = "choices", 0.8
_BOUNDS: Mapping[str, Callable[[float], float]] = {
    PRECEDENT: lambda presence: max(presence, WITH_PRECEDENT),
    CHOICES: lambda presence: max(presence, WITH_CHOICES),
    PRESENT: lambda presence: min(presence, MOST_IF_ABSENT),
    PROVEN_VALUE: lambda presence: max(presence, WITH_PROVEN_VALUE),
    DOCUMENTED: lambda presence: max(presence, WITH_DOCUMENT),
}

Weights = Mapping[str, Mapping[str, float]]


class Trust(msgspec.Struct, frozen=True):
    """Holds how far an answer can be trusted, each 0 to 1.

    `presence`: the probability that the repository has what is asked about; `confidence`: that it has, and that the
    answer is good.
    """

    presence: float
    confidence: float

    @property
    def is_found(self) -> bool:
        """True for an answer; False for a list of likely places."""
        return self.presence >= ENOUGH


NOTHING = Trust(0.0, 0.0)


def features_of(places: Sequence[Place], absence: Absence | None) -> dict[str, float]:
    """Return the features of an answer, each 0 to 1; all 0 without places.

    `top_share`: the most of the question's weight that one of the first three places covers; `ahead`: how far the score
    of the first place is above that of the fifth. The others are those of `features_of_subject`.
    """
    if not places:
        return dict.fromkeys(FEATURES, 0.0)
    excerpts = [place.fact.excerpt for place in places[:TOP_PLACES] if place.fact.excerpt is not None]
    last = places[COMPARED_PLACE].score if len(places) > COMPARED_PLACE else 0.0
    return {
        "top_share": max((excerpt.share for excerpt in excerpts), default=0.0),
        "ahead": max(0.0, min(1.0, places[0].score - last)),
        PROVEN_VALUE: 0.0,
        **features_of_subject(absence),
    }


def features_of_subject(absence: Absence | None) -> dict[str, float]:
    """Return the features of what is asked about, each 0 to 1.

    `present`: 0 if a distinctive word of the question occurs nowhere, or only aside, or most of its words occur
    nowhere and the code has few like them; `together`: the share of its neighbouring words that occur near
    each other, which counts less in a small repository; `familiar`: how often its words occur, against other software;
    `spoken_of`: how much of it the code speaks of, which only the models by readings weigh; `small`: how small the
    repository is, and `small_spoken_of`, the product of both.
    """
    absence = absence or Absence()
    size = absence.pieces / (absence.pieces + PIECES_OF_HALF)
    small = PIECES_OF_HALF_SMALL / (absence.pieces + PIECES_OF_HALF_SMALL) if absence.pieces else 0.0
    is_unknown = absence.unknown > MOST_UNKNOWN and absence.spoken_of < LEAST_SPOKEN_OF
    return {
        PRESENT: float(not absence.nowhere and not absence.aside and not is_unknown),
        "together": 1 - size * (1 - absence.together),
        "familiar": absence.familiar,
        SPOKEN_OF: absence.spoken_of,
        SMALL: small,
        SMALL_SPOKEN_OF: small * absence.spoken_of,
    }


def features_of_meaning(absence: Absence | None, compared: float | None) -> dict[str, float]:
    """Return the feature by meaning, how near the nearest pieces are; none without enough vectors.

    `compared`: the share of the repository's pieces that could be compared.
    """
    if absence is None or absence.near is None or compared is None or compared < LEAST_COMPARED:
        return {}
    return {NEAR: max(0.0, absence.near)}


def features_of_readings(facts: Sequence[CodeFact]) -> dict[str, float]:
    """Return the features of places that were read together with the question; none of fewer than three.

    `reading`: how well the best one answers; `reading_ahead`: how far that is above the median.
    """
    of_places = {fact.place: fact.reading for fact in facts if fact.reading is not None}
    if len(of_places) < LEAST_READ:
        return {}
    best = max(of_places.values())
    return {READING: best, READING_AHEAD: best - statistics.median_low(of_places.values())}


def features_of_lead(question: str, places: Sequence[Place]) -> dict[str, float]:
    """Return the features of the place that leads the answer, of places of which enough were read; none of others.

    `lead_reading`: how well it answers, as well as the worst one if it was not read; `ahead_of_next`: how far its score
    is above that of the place which comes next, below 0 if another order put it first; `lead_speaks`, only where it is
    asked whether there is a feature: the share of its words that the place has.
    """
    read = [place.fact.reading for place in places if place.fact.reading is not None]
    ordered = in_leading_order(question, places)
    code = [place for place in ordered if place.fact.excerpt is not None and not place.is_prose]
    if len(read) < LEAST_READ or not code:
        return {}
    lead, behind = code[0], code[1].score if len(code) > 1 else 0.0
    answers = lead.fact.reading if lead.fact.reading is not None else min(read)
    terms, has = feature_terms(question), lead.fact.excerpt.has if lead.fact.excerpt is not None else ()
    speaks = {LEAD_SPEAKS: len(set(terms).intersection(has)) / len(terms)} if terms else {}
    return {LEAD_READING: answers, AHEAD_OF_NEXT: lead.score - behind, **speaks}


def features_of_values(facts: Sequence[CodeFact]) -> dict[str, float]:
    """Return the feature of an answer that proves a value; none without one."""
    return {PROVEN_VALUE: 1.0} if any(fact.value is not None and fact.value.is_proven for fact in facts) else {}


def features_of_precedents(facts: Sequence[CodeFact]) -> dict[str, float]:
    """Return the feature of an answer that tells how a thing of the same sort was added; none without one."""
    return {PRECEDENT: 1.0} if any(fact.kind in {"precedent", "sibling"} for fact in facts) else {}


def features_of_choices(facts: Sequence[CodeFact]) -> dict[str, float]:
    """Return the feature of an answer that tells all values of a closed set, each of them proven; none without one."""
    return {CHOICES: 1.0} if any(fact.kind == "choice" for fact in facts) else {}


def features_of_documents(absence: Absence | None) -> dict[str, float]:
    """Return the feature of a question whose words stand together in a passage of documentation; none of others."""
    return {DOCUMENTED: 1.0} if absence is not None and absence.documented else {}


def all_features(
    question: str,
    places: Sequence[Place],
    facts: Sequence[CodeFact],
    absence: Absence | None,
    compared: float | None,
) -> dict[str, float]:
    """Return all features of an answer to a question, also those that only some have."""
    features = features_of(places, absence)
    if any(features.values()):
        features |= features_of_meaning(absence, compared) | features_of_values(facts) | features_of_documents(absence)
        features |= features_of_readings([place.fact for place in places]) | features_of_lead(question, places)
    return features | features_of_precedents(facts) | features_of_choices(facts)


def trust_in(features: Mapping[str, float], weights: Weights | None = None) -> Trust:
    """Return the trust that features give, on two digits; none at all without places.

    `weights`: those of the models; by default the fitted ones.
    """
    if not any(features.values()):
        return NOTHING
    weights = weights or weights_of_models()
    presence = _chance(sum(added for _, added in presence_by(features, weights).values()))
    for bound in bounds_of_presence(features):
        presence = _BOUNDS[bound](presence)
    confidence = presence * _chance(log_odds(model_of(features, "good", weights), features))
    if features.get(CHOICES):
        confidence = max(confidence, WITH_CHOICES)
    return Trust(round(presence, 2), round(confidence, 2))


def bounds_of_presence(features: Mapping[str, float]) -> list[str]:
    """Return the name of the feature that bounds presence whatever the others say; empty for most answers."""
    if told := [name for name in (PRECEDENT, CHOICES) if features.get(name)]:
        return told[:1]
    if features.get(PRESENT, 1.0) < 1:
        return [PRESENT]
    return [name for name in (PROVEN_VALUE, DOCUMENTED) if features.get(name)][:1]


def presence_by(features: Mapping[str, float], weights: Weights | None = None) -> dict[str, tuple[float, float]]:
    """Return what presence goes by, by name: the value of each feature and what it adds to the log-odds.

    `intercept` has what is added whatever the features are. A word that occurs nowhere, a proven value or a document
    then bounds presence (`trust_in`).
    """
    weights = weights or weights_of_models()
    added = defaultdict[str, float](float)
    for name, weight in model_of(features, "there", weights).items():
        added[name] += weight * features.get(name, 1.0)
    for name, weight in weights.get(IN_SMALL, {}).items():
        added[name] += weight * features.get(name, 0.0)
    return {name: (features.get(name, 1.0), value) for name, value in added.items()}


@functools.cache
def weights_of_models() -> Weights:
    """Return the weights of `there` and `good`, by words, with vectors and with readings, each with an `intercept`."""
    found: Weights = json.loads(FILE.read_text(encoding="utf-8"))["weights"]
    return found


def level(confidence: float) -> Literal["low", "medium", "high"]:
    """Return a confidence in a word."""
    return "low" if confidence < MEDIUM else "medium" if confidence < HIGH else "high"


def log_odds(model: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Return what a model says of features."""
    return sum(weight * features.get(name, 1.0) for name, weight in model.items())


def model_of(features: Mapping[str, float], kind: str, weights: Weights) -> Mapping[str, float]:
    """Return the model by which features are weighed; `kind`: `there` or `good`.

    Presence has its own where pieces were both read and compared, else where it is asked whether there is a feature.
    """
    if kind == "there" and is_compared(features):
        return weights[f"{kind}{WHERE_COMPARED}"]
    if kind == "there" and LEAD_SPEAKS in features and READING in features:
        return weights[f"{kind}{OF_FEATURE}"]
    by = WITH_READINGS if READING in features else WITH_VECTORS if NEAR in features else ""
    return weights[f"{kind}{by}"]


def is_compared(features: Mapping[str, float]) -> bool:
    """Return whether the first places were read, and enough pieces of the repository were compared by meaning."""
    return NEAR in features and READING in features


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
