"""The circuit breaker: failures in a row open it, one probe at a time decides whether it closes."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.circuit_breaker import CLOSED, TRANSITIONS, Breaker, BreakerRules, Ending, State, admit, record
from runtime.primitives.ids import MessageId

RULES = BreakerRules(failure_threshold=3, reset_timeout_s=10)
M, PROBE, LATER = MessageId("m"), MessageId("probe"), MessageId("later")


def after(*endings: Ending, rules: BreakerRules = RULES, now_ms: int = 0) -> Breaker:
    breaker = CLOSED
    for ending in endings:
        breaker = record(rules, breaker, M, ending, now_ms)
    return breaker


def half_open() -> Breaker:
    breaker, admitted = admit(RULES, after("failure", "failure", "failure"), PROBE, 10_000)
    assert admitted
    return breaker


@pytest.mark.parametrize(("failures", "state"), [(2, "closed"), (3, "open"), (4, "open")])
def test_as_many_failures_in_a_row_as_the_threshold_says_open_it(failures: int, state: State) -> None:
    endings: list[Ending] = ["failure"] * failures
    assert after(*endings).state == state


def test_a_success_resets_the_count() -> None:
    assert after("failure", "failure", "success", "failure", "failure").state == "closed"
    assert after("failure", "failure", "success") == CLOSED


def test_what_says_nothing_about_the_handler_neither_counts_nor_resets() -> None:
    assert after("failure", "neither", "failure", "neither") == Breaker(failures=2)
    assert after("failure", "neither", "failure", "neither", "failure").state == "open"


@pytest.mark.parametrize(("now_ms", "admitted"), [(9_999, False), (10_000, True), (10_001, True)])
def test_it_admits_nothing_until_the_reset_timeout_has_passed(now_ms: int, admitted: bool) -> None:
    breaker = after("failure", "failure", "failure")
    assert breaker.probe_at_ms == 10_000
    assert admit(RULES, breaker, PROBE, now_ms)[1] is admitted


def test_half_open_lets_exactly_one_probe_through() -> None:
    breaker = half_open()
    assert breaker.state == "half_open"
    assert [admit(RULES, breaker, LATER, 10_000 + waited)[1] for waited in (0, 1, 9_999)] == [False] * 3


def test_a_probe_that_succeeds_closes_it_and_the_count_begins_anew() -> None:
    assert record(RULES, half_open(), PROBE, "success", 11_000) == CLOSED


def test_a_probe_that_fails_opens_it_for_the_whole_timeout_again() -> None:
    breaker = record(RULES, half_open(), PROBE, "failure", 11_000)
    assert (breaker.state, breaker.probe_at_ms) == ("open", 21_000)


def test_a_probe_that_says_nothing_makes_room_for_the_next_at_once() -> None:
    breaker = record(RULES, half_open(), PROBE, "neither", 11_000)
    breaker, admitted = admit(RULES, breaker, LATER, 11_000)
    assert admitted
    assert (breaker.state, breaker.probe) == ("half_open", LATER)


@pytest.mark.parametrize(("now_ms", "admitted"), [(19_999, False), (20_000, True)])
def test_a_probe_that_is_never_heard_of_again_makes_room_after_the_timeout(now_ms: int, admitted: bool) -> None:
    assert admit(RULES, half_open(), LATER, now_ms)[1] is admitted


@pytest.mark.parametrize("ending", get_args(Ending))
def test_late_results_of_requests_from_before_change_nothing(ending: Ending) -> None:
    opened = after("failure", "failure", "failure")
    assert record(RULES, opened, M, ending, 5_000) == opened
    assert record(RULES, half_open(), M, ending, 11_000) == half_open()


@pytest.mark.parametrize(("type_", "guarded"), [("a", True), ("b", False)])
def test_excluded_types_are_not_guarded(type_: str, guarded: bool) -> None:
    assert BreakerRules(3, 10, frozenset({"b"})).guards(type_) is guarded


def test_a_threshold_of_zero_never_opens() -> None:
    assert not BreakerRules(0).guards("a")
    assert BreakerRules(1).guards("a")
    assert after("failure", rules=BreakerRules(1)).state == "open"


@pytest.mark.parametrize("values", [(-1, 1.0), (1, -0.001)])
def test_negative_rules_are_refused(values: tuple[int, float]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        BreakerRules(*values)


def test_every_state_can_be_left_and_every_transition_leads_to_a_state() -> None:
    assert {state for state, _ in TRANSITIONS} == set(TRANSITIONS.values()) == set(get_args(State))


steps = st.lists(st.tuples(st.sampled_from(["success", "failure", "neither", "silence"]), st.integers(0, 6_000)))


@given(steps, st.integers(1, 4))
def test_it_opens_only_after_failures_in_a_row_and_one_probe_at_a_time_is_under_way(
    moves: list[tuple[str, int]], threshold: int
) -> None:
    rules = BreakerRules(threshold, 10)
    breaker, now_ms, row, probing_until = CLOSED, 0, 0, -1
    for number, (ending, passed_ms) in enumerate(moves):
        now_ms += passed_ms
        before = breaker
        breaker, admitted = admit(rules, breaker, MessageId(str(number)), now_ms)
        assert admitted or before.state != "closed"
        if not admitted:
            assert row >= threshold
            continue
        if before.state != "closed":
            assert now_ms >= probing_until
            probing_until = now_ms + 10_000
        if ending == "silence":
            continue
        breaker = record(rules, breaker, MessageId(str(number)), ending, now_ms)  # type: ignore[arg-type]
        row = {"success": 0, "failure": row + 1, "neither": row}[ending]
        probing_until = probing_until if breaker.state == "half_open" and ending != "neither" else -1
        assert (breaker.state == "closed") == (row < threshold)
