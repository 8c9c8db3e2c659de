"""Chooses which of the places of code that were found for a question in words leads the answer.

The search orders places by how well they fit the question; many a place that fits only declares something, records a
state, or tests. A listwise linear model over that order, the kinds of the lines that would be shown, the name and the
meaning reorders the first places; tests/ranking/leading.py fits it on questions whose deciding places are known.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.line_kinds import line_kinds
from actors.capabilities.code_analysis.ranking.worth_telling import LEAST_SCORE, state_of
from runtime.codebase.files.path_kinds import kinds_asked_for
from runtime.codebase.files.words import index_terms, query_terms, split_identifier
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.primitives.dotted_names import last_part

# So many of the first places of code are reordered.
MOST = 10
FILE = Path(__file__).parent / "leading_place.json"
FEATURES: Mapping[str, tuple[str, ...]] = {
    "words": ("score", "order", "test", "bare", "literal", "callable", "name"),
    "vectors": ("score", "order", "test", "bare", "literal", "callable", "deciding", "near"),
}

Weights = Mapping[str, Mapping[str, float]]


def in_leading_order(question: str, places: Sequence[Place], weights: Weights | None = None) -> list[Place]:
    """Return the places with the first ten of code that have chosen lines in the order in which they may lead.

    Places of documents, and those without chosen lines, keep their position.
    """
    positions = [at for at, place in enumerate(places) if place.fact.excerpt is not None and not place.is_prose][:MOST]
    chosen = [places[at] for at in positions]
    if len(chosen) < 2:
        return list(places)
    model = (weights or fitted_weights())[state_of(places)]
    scores = [sum(weight * row[name] for name, weight in model.items()) for row in features_of(question, chosen)]
    order = sorted(range(len(chosen)), key=lambda at: -scores[at])
    ordered = list(places)
    for position, at in zip(positions, order, strict=True):
        ordered[position] = chosen[at]
    return ordered


def features_of(question: str, places: Sequence[Place]) -> list[dict[str, float]]:
    """Return the features of places of code with chosen lines, in answer order.

    `score`: the logarithm of the score; `order`: less the more places come before; `test`: 1 for a test, unless the
    question asks for tests; `bare`, `literal`: the share of the shown lines of these kinds; `deciding`: the logarithm
    of how many decide; `callable`: 1 for a function or method; `name`: the share of the name's words that the question
    has; `near`: the cosine, the mean of the others' for a place without one.
    """
    known = [place.fact.cosine for place in places if place.fact.cosine is not None]
    usual = sum(known) / len(known) if known else 0.0
    asks_for_tests = "test" in kinds_asked_for(question)
    words = query_terms(question).counts.keys()
    return [
        {
            **_shown(place),
            "score": math.log(max(LEAST_SCORE, place.score)),
            "order": -math.log(1 + number),
            "test": float(place.fact.is_test and not asks_for_tests),
            "callable": float(place.fact.symbol_kind in CALLABLE_KINDS),
            "name": _share_of_name(place.fact.name, words),
            "near": usual if place.fact.cosine is None else place.fact.cosine,
        }
        for number, place in enumerate(places)
    ]


@functools.cache
def fitted_weights() -> Weights:
    """Return the weights of both models."""
    found: Weights = json.loads(FILE.read_text(encoding="utf-8"))["weights"]
    return found


def _shown(place: Place) -> dict[str, float]:
    assert place.fact.excerpt is not None
    kinds = line_kinds(place.fact.excerpt.text, place.fact.excerpt.within)
    lines = max(1, kinds.code)
    return {"bare": kinds.bare / lines, "literal": kinds.literal / lines, "deciding": math.log(1 + kinds.deciding)}


def _share_of_name(name: str, words: Collection[str]) -> float:
    own = set(index_terms(" ".join(split_identifier(last_part(name)))).split()) if name else set()
    return len(own.intersection(words)) / len(own) if own else 0.0
