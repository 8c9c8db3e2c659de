"""What dies with a process is what it held, and what was on its way to it."""

from __future__ import annotations

from runtime.hosting.attempt_tracker import Holders
from runtime.primitives.ids import Address, RunId, StageKey

HERE, THERE = Address("agent:p.a"), Address("agent:p.b")
RUN = RunId("r-1")
FIRST, SECOND, THIRD = (StageKey(RUN, hop) for hop in (1, 2, 3))


def test_what_a_process_held_is_lost_with_it_once() -> None:
    holders = Holders()
    holders.lives(HERE, "x")
    holders.sent(FIRST, HERE)
    assert holders.heard(FIRST, HERE, "x", has_ended=False)
    assert holders.lives(HERE, "x") == {}
    assert holders.lives(HERE, "y") == {RUN: (FIRST,)}
    assert holders.lives(HERE, "y") == holders.lives(HERE, "z") == {}


def test_what_was_on_its_way_to_a_process_that_died_is_lost_and_what_went_elsewhere_is_not() -> None:
    holders = Holders()
    holders.lives(HERE, "x")
    holders.sent(FIRST, HERE)
    holders.sent(SECOND, THERE)
    assert holders.lives(HERE, "y") == {RUN: (FIRST,)}
    holders.sent(THIRD, HERE)
    assert holders.lives(HERE, "y") == {}
    assert holders.lives(HERE, "z") == {RUN: (THIRD,)}


def test_what_is_on_its_way_to_the_first_process_that_is_heard_of_is_not_lost() -> None:
    holders = Holders()
    holders.sent(FIRST, HERE)
    assert holders.lives(HERE, "x") == {}
    assert holders.heard(FIRST, HERE, "x", has_ended=False)


def test_what_has_ended_or_is_not_waited_for_is_not_lost() -> None:
    holders = Holders()
    holders.lives(HERE, "x")
    for key in (FIRST, SECOND):
        holders.sent(key, HERE)
    assert holders.heard(FIRST, HERE, "x", has_ended=True)
    holders.dropped(SECOND)
    assert holders.lives(HERE, "y") == {}


def test_a_life_that_is_over_holds_nothing_but_may_still_say_how_it_ended() -> None:
    holders = Holders()
    holders.lives(HERE, "x")
    holders.lives(HERE, "y")
    holders.sent(FIRST, HERE)
    assert not holders.heard(FIRST, HERE, "x", has_ended=False)
    assert holders.heard(FIRST, HERE, "x", has_ended=True)
