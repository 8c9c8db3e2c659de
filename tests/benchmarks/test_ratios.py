"""What is told of the ratios of paired rounds: their middle, and between which it lies."""

from __future__ import annotations

import math
import random

import pytest

from tests.benchmarks.pacing import middle_between


def test_ratios_that_are_all_alike_have_no_doubt_about_them() -> None:
    assert middle_between([1.25] * 20) == pytest.approx((1.25, 1.25, 1.25))


def test_one_round_that_was_held_up_moves_the_middle_little() -> None:
    low, middle, high = middle_between([*[0.98, 1.0, 1.02] * 8, 50.0])
    assert low <= 1 <= high
    assert middle == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("turns", [12, 40, 100])
def test_what_the_ratios_are_drawn_around_lies_between_in_most_of_many_series(turns: int) -> None:
    drawn = random.Random(turns)
    found = [middle_between([math.exp(drawn.gauss(0.02, 0.1)) for _ in range(turns)]) for _ in range(100)]
    assert sum(low <= math.exp(0.02) <= high for low, _, high in found) >= 89
