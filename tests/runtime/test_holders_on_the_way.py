"""What dies with a process is what it held, and what was on its way to it."""

from __future__ import annotations

from runtime.hosting.attempt_tracker import AttemptTracker
from runtime.primitives.ids import Address, RunId, StageKey

HERE, THERE = Address("agent:p.a"), Address("agent:p.b")
RUN = RunId("r-1")
FIRST, SECOND, THIRD = (StageKey(RUN, hop) for hop in (1, 2, 3))


def test_what_a_process_held_is_lost_with_it_once() -> None:
    holders = AttemptTracker()
    holders.on_incarnation(HERE, "x")
    holders.on_send(FIRST, HERE)
    assert holders.on_report(FIRST, HERE, "x", has_ended=False)
    assert holders.on_incarnation(HERE, "x") == {}
    assert holders.on_incarnation(HERE, "y") == {RUN: (FIRST,)}
    assert holders.on_incarnation(HERE, "y") == holders.on_incarnation(HERE, "z") == {}


def test_what_was_on_its_way_to_a_process_that_died_is_lost_and_what_went_elsewhere_is_not() -> None:
    holders = AttemptTracker()
    holders.on_incarnation(HERE, "x")
    holders.on_send(FIRST, HERE)
    holders.on_send(SECOND, THERE)
    assert holders.on_incarnation(HERE, "y") == {RUN: (FIRST,)}
    holders.on_send(THIRD, HERE)
    assert holders.on_incarnation(HERE, "y") == {}
    assert holders.on_incarnation(HERE, "z") == {RUN: (THIRD,)}


def test_what_is_on_its_way_to_the_first_process_that_is_heard_of_is_not_lost() -> None:
    holders = AttemptTracker()
    holders.on_send(FIRST, HERE)
    assert holders.on_incarnation(HERE, "x") == {}
    assert holders.on_report(FIRST, HERE, "x", has_ended=False)


def test_what_has_ended_or_is_not_waited_for_is_not_lost() -> None:
    holders = AttemptTracker()
    holders.on_incarnation(HERE, "x")
    for key in (FIRST, SECOND):
        holders.on_send(key, HERE)
    assert holders.on_report(FIRST, HERE, "x", has_ended=True)
    holders.release(SECOND)
    assert holders.on_incarnation(HERE, "y") == {}


def test_a_life_that_is_over_holds_nothing_but_may_still_say_how_it_ended() -> None:
    holders = AttemptTracker()
    holders.on_incarnation(HERE, "x")
    holders.on_incarnation(HERE, "y")
    holders.on_send(FIRST, HERE)
    assert not holders.on_report(FIRST, HERE, "x", has_ended=False)
    assert holders.on_report(FIRST, HERE, "x", has_ended=True)
