"""Who holds which attempt: what dies with a process is named once, and nothing else ever is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hosting.attempt_tracker import INCARNATIONS_REMEMBERED, AttemptTracker
from runtime.primitives.ids import Address, RunId, StageKey

RUN = RunId("r-1")
A, B = Address("agent:p.a"), Address("agent:p.b")


def key(hop: int = 1, attempt: int = 1, run_id: RunId = RUN) -> StageKey:
    return StageKey(run_id, hop, 0, attempt)


def held(*keys: StageKey, life: str = "1") -> AttemptTracker:
    holders = AttemptTracker()
    for one in keys:
        holders.on_issue(one)
        assert holders.on_report(one, A, life, has_ended=False)
    return holders


def test_what_a_former_life_held_is_lost_and_named_once() -> None:
    holders = held(key(1), key(2), key(1, run_id=RunId("r-2")))
    assert holders.on_incarnation(A, "1") == {}
    assert holders.on_incarnation(A, "2") == {RUN: (key(1), key(2)), RunId("r-2"): (key(1, run_id=RunId("r-2")),)}
    assert holders.on_incarnation(A, "2") == {}


def test_what_the_present_life_or_another_agent_holds_is_not_lost() -> None:
    holders = held(key(1))
    holders.on_issue(key(2))
    holders.on_report(key(2), A, "2", has_ended=False)
    holders.on_issue(key(3))
    holders.on_report(key(3), B, "1", has_ended=False)
    assert holders.on_incarnation(A, "2") == {RUN: (key(1),)}


def test_an_attempt_that_nobody_has_spoken_of_is_on_its_way_and_not_lost() -> None:
    holders = AttemptTracker()
    holders.on_issue(key())
    assert (holders.on_incarnation(A, "1"), holders.on_incarnation(A, "2")) == ({}, {})


def test_an_attempt_that_was_ended_dropped_or_issued_again_is_not_lost() -> None:
    holders = held(key(1), key(2), key(3))
    assert holders.on_report(key(1), A, "1", has_ended=True)
    holders.release(key(2))
    assert holders.on_issue(key(3, 2)) == key(3, 1)
    assert holders.on_incarnation(A, "9") == {}


def test_news_from_before_an_agents_death_that_come_after_it_tell_of_a_lost_attempt() -> None:
    holders = AttemptTracker()
    holders.on_issue(key())
    holders.on_incarnation(A, "1")
    holders.on_incarnation(A, "2")
    assert not holders.on_report(key(), A, "1", has_ended=False)
    assert holders.on_report(key(), A, "1", has_ended=False), "it is named once"


def test_an_end_is_an_end_whoever_is_dead_since() -> None:
    holders = held(key())
    holders.on_incarnation(A, "2")
    holders.on_issue(key(2))
    assert holders.on_report(key(2), A, "1", has_ended=True)


def test_a_life_that_is_only_heard_of_after_its_successor_answered_is_found_out_at_the_next_answer() -> None:
    holders = AttemptTracker()
    holders.on_incarnation(A, "2")
    holders.on_issue(key())
    assert holders.on_report(key(), A, "1", has_ended=False)
    assert holders.on_incarnation(A, "2") == {RUN: (key(),)}


def test_a_late_word_of_a_cancelled_attempt_is_not_remembered() -> None:
    holders = held(key())
    holders.release(key())
    assert holders.on_report(key(), A, "1", has_ended=False)
    assert len(holders) == 0
    assert holders.on_incarnation(A, "2") == {}


def test_a_late_word_of_an_older_attempt_does_not_take_the_newer_one_away() -> None:
    holders = held(key(1, 1))
    holders.on_issue(key(1, 2))
    holders.on_report(key(1, 1), A, "1", has_ended=False)
    holders.on_report(key(1, 1), A, "1", has_ended=True)
    holders.release(key(1, 1))
    assert holders.on_incarnation(A, "2") == {}
    holders.on_report(key(1, 2), A, "2", has_ended=False)
    assert holders.on_incarnation(A, "3") == {RUN: (key(1, 2),)}


def test_a_life_that_answers_again_after_a_late_answer_of_another_is_not_over() -> None:
    holders = AttemptTracker()
    for life in ("2", "1", "2"):
        holders.on_incarnation(A, life)
    holders.on_issue(key())
    assert holders.on_report(key(), A, "2", has_ended=False)


def test_an_attempt_belongs_to_whoever_spoke_of_it_last() -> None:
    holders = held(key())
    holders.on_report(key(), A, "2", has_ended=False)
    assert holders.on_incarnation(A, "2") == {}
    assert holders.on_incarnation(A, "3") == {RUN: (key(),)}


@pytest.mark.parametrize(("deaths", "is_known"), [(-1, True), (0, True), (1, False)])
def test_a_hundred_lives_of_an_agent_are_remembered_as_over(deaths: int, is_known: bool) -> None:
    holders = AttemptTracker()
    for life in range(INCARNATIONS_REMEMBERED + 1 + deaths):
        holders.on_incarnation(A, str(life))
    holders.on_issue(key())
    assert holders.on_report(key(), A, "0", has_ended=False) is not is_known


LIVES, HOPS = st.integers(1, 3), st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("on_issue"), HOPS),
    st.tuples(st.just("on_report"), HOPS, st.integers(0, 2), st.sampled_from([A, B]), LIVES, st.booleans()),
    st.tuples(st.just("release"), HOPS, st.integers(0, 1)),
    st.tuples(st.just("on_incarnation"), st.sampled_from([A, B]), LIVES),
)


class Model:
    """The same in lists that are searched: each attempt in flight with who has it."""

    def __init__(self) -> None:
        self.flying: dict[StageKey, tuple[Address, str] | None] = {}
        self.lives_now: dict[Address, str] = {}
        self.over: set[tuple[Address, str]] = set()

    def on_report(self, one: StageKey, address: Address, life: str, has_ended: bool) -> bool:
        if one not in self.flying or has_ended:
            self.flying.pop(one, None)
            return True
        if (address, life) in self.over:
            del self.flying[one]
            return False
        self.flying[one] = (address, life)
        return True

    def on_incarnation(self, address: Address, life: str) -> set[StageKey]:
        if address in self.lives_now:
            self.over.add((address, self.lives_now[address]))
        self.lives_now[address] = life
        lost = {one for one, by in self.flying.items() if by is not None and by[0] == address and by[1] != life}
        self.over |= {by for one in lost if (by := self.flying[one]) is not None}
        self.over.discard((address, life))
        for one in lost:
            del self.flying[one]
        return lost


@given(st.lists(STEPS, max_size=40))
def test_whatever_is_heard_in_whatever_order_the_lost_are_those_that_a_naive_model_names(
    steps: list[tuple[Any, ...]],
) -> None:
    holders, model = AttemptTracker(), Model()
    newest = dict.fromkeys(range(1, 4), 0)
    for step in steps:
        if step[0] == "on_issue":
            model.flying.pop(key(step[1], newest[step[1]]), None)
            newest[step[1]] += 1
            model.flying[key(step[1], newest[step[1]])] = None
            assert holders.on_issue(key(step[1], newest[step[1]])) == key(step[1], newest[step[1]] - 1)
        elif step[0] == "on_report":
            _, hop, behind, address, life, has_ended = step
            one = key(hop, newest[hop] - behind)
            assert holders.on_report(one, address, str(life), has_ended) == model.on_report(
                one, address, str(life), has_ended
            )
        elif step[0] == "release":
            one = key(step[1], newest[step[1]] - step[2])
            holders.release(one)
            model.flying.pop(one, None)
        else:
            lost = holders.on_incarnation(step[1], str(step[2]))
            named = [one for keys in lost.values() for one in keys]
            assert len(named) == len(set(named))
            assert set(named) == model.on_incarnation(step[1], str(step[2]))
        assert len(holders) == len(model.flying)
