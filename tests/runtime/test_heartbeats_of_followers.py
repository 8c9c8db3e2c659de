"""Who has not answered for too long: not before the first answer, and again and again until somebody does."""

from __future__ import annotations

import pytest

from runtime.hosting.failure_detector import Heartbeats
from runtime.primitives.ids import Address

HERE, THERE = Address("agent:p.a"), Address("agent:p.b")


@pytest.fixture
def beats() -> Heartbeats:
    """Waits six seconds; one agent has answered once."""
    beats = Heartbeats(6.0)
    beats.ask(HERE, 0.0)
    beats.answered(HERE)
    return beats


def test_who_owes_an_answer_is_not_asked_again(beats: Heartbeats) -> None:
    assert beats.ask(HERE, 1.0)
    assert not beats.ask(HERE, 2.0)
    assert beats.ask(THERE, 2.0)


@pytest.mark.parametrize(("waited_s", "hangs"), [(5.99, False), (6.0, True), (6.01, True)])
def test_a_process_hangs_from_the_instant_at_which_its_time_is_over(
    beats: Heartbeats, waited_s: float, hangs: bool
) -> None:
    beats.ask(HERE, 10.0)
    assert beats.hanging(10.0 + waited_s) == ([HERE] if hangs else [])


def test_nobody_is_judged_before_the_first_answer(beats: Heartbeats) -> None:
    beats.ask(THERE, 10.0)
    assert beats.hanging(1_000.0) == []


def test_a_process_that_follows_one_that_answered_is_judged_though_it_never_has(beats: Heartbeats) -> None:
    beats.ask(HERE, 10.0)
    beats.unreachable(HERE)
    assert beats.hanging(20.0) == []
    assert beats.ask(HERE, 20.0)
    assert beats.hanging(26.0) == [HERE]


def test_who_hangs_is_named_once_in_each_time_that_it_has(beats: Heartbeats) -> None:
    beats.ask(HERE, 10.0)
    assert [now_s for now_s in range(10, 30) if beats.hanging(float(now_s))] == [16, 22, 28]


def test_who_answers_late_is_left_alone(beats: Heartbeats) -> None:
    beats.ask(HERE, 10.0)
    beats.answered(HERE)
    assert beats.hanging(100.0) == []
