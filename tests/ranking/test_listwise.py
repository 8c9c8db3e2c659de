"""Weights that are drawn to others, or held, when a ranker learns from few examples."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.codebase.search.features import FEATURES
from tests.ranking.cases import Case
from tests.ranking.examples import Example
from tests.ranking.listwise import fit

NAMES = ("words", "cover", "is_test")


def examples() -> list[Example]:
    """Ten lists of six candidates drawn at random, seed 2, of which the one with most `cover` is right."""
    rng = np.random.default_rng(2)
    made = []
    for number in range(10):
        rows = rng.random((6, len(FEATURES)))
        gains = (rows[:, FEATURES.index("cover")] == rows[:, FEATURES.index("cover")].max()).astype(float)
        made.append(Example(Case(str(number), "a/b", "Why?"), [], [], rows, gains, "words"))
    return made


def test_what_is_right_gets_weight_and_what_is_held_keeps_its_own() -> None:
    weights = fit(examples(), NAMES, penalty=1.0, held={"is_test": -2.5})
    assert weights["is_test"] == -2.5
    assert weights["cover"] > 1
    assert list(weights) == list(NAMES)


@pytest.mark.parametrize(("penalty", "nearest"), [(1e9, 1e-3), (1.0, None)])
def test_weights_are_drawn_to_those_that_were_learned_before(penalty: float, nearest: float | None) -> None:
    known = {"words": 3.0, "cover": -1.0, "is_test": 0.5}
    weights = fit(examples(), NAMES, penalty=penalty, around=known)
    if nearest is None:
        assert weights["cover"] > 0
    else:
        assert weights == pytest.approx(known, abs=nearest)


def test_each_feature_may_be_drawn_by_a_strength_of_its_own() -> None:
    strengths = {**dict.fromkeys(FEATURES, 1.0), "cover": 1e9}
    assert fit(examples(), NAMES, penalty=strengths)["cover"] == pytest.approx(0, abs=1e-3)
