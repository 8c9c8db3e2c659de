"""Rates under attack: addresses by the million, clocks that go back, and settings that name whom they mean."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import RateLimitedError
from runtime.hosting.limits.principal_table import ROWS
from runtime.hosting.limits.rate_limits import RateLimiter, RateLimits
from runtime.hosting.limits.span_counts import DAY_MS, FEW, HOUR_MS, MINUTE_MS, SpanCounts, SteadyTime
from runtime.testing import START_MS

NO_WINDOWS: dict[str, Any] = {"per_minute": None, "per_hour": None, "per_day": None, "burst": None}
ANN, BATCH, CLIENT = "user:ann", "batch:ann", "address:192.0.2.1"


def limits(**fields: int) -> RateLimits:
    return RateLimits(**{**NO_WINDOWS, **fields})


def is_taken(limiter: RateLimiter, user_id: str, at_ms: int, endpoint: str = "") -> bool:
    try:
        limiter.take(user_id, at_ms, endpoint)
    except RateLimitedError:
        return False
    return True


def test_a_flood_of_addresses_takes_a_bounded_number_of_counters() -> None:
    limiter = RateLimiter(RateLimits(), most=64, cells=128)
    for number in range(20_000):
        is_taken(limiter, f"address:{number}", START_MS + number)
    assert limiter.counters <= 64 + ROWS * 128


def test_whoever_has_spent_the_minute_gets_nothing_by_a_flood_of_other_addresses() -> None:
    limiter = RateLimiter(limits(per_minute=3), most=8, cells=8)
    assert [is_taken(limiter, CLIENT, START_MS) for _ in range(4)] == [True] * 3 + [False]
    for number in range(1_000):
        is_taken(limiter, f"address:{number}", START_MS + 1)
    assert not is_taken(limiter, CLIENT, START_MS + MINUTE_MS - 1)
    assert is_taken(limiter, CLIENT, START_MS + MINUTE_MS)


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0, 1, 900, 30_000, HOUR_MS, DAY_MS])), max_size=150),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_with_room_for_few_counters_nobody_ever_gets_more_than_with_room_for_all(
    allowed: int, requests: list[tuple[int, int]], most: int, cells: int
) -> None:
    limiter, now_ms = RateLimiter(limits(per_minute=allowed), most=most, cells=cells), START_MS
    taken: dict[int, list[int]] = {}
    for number, gap_ms in requests:
        now_ms += gap_ms
        if is_taken(limiter, f"address:{number}", now_ms):
            taken.setdefault(number, []).append(now_ms)
    for times in taken.values():
        for at_ms in times:
            assert len([other for other in times if at_ms - MINUTE_MS < other <= at_ms]) <= allowed


def test_a_client_that_comes_during_a_flood_is_served_unless_its_cells_are_full() -> None:
    limiter = RateLimiter(limits(per_minute=60), most=16, cells=1_024)
    for number in range(1_000):
        is_taken(limiter, f"address:{number}", START_MS)
    newcomers = [is_taken(limiter, f"address:new-{number}", START_MS + 1) for number in range(200)]
    assert all(newcomers)


def test_counters_of_yesterday_make_room_for_those_of_today() -> None:
    limiter = RateLimiter(limits(per_minute=1), most=4, cells=4)
    for day in range(3):
        at_ms = START_MS + day * DAY_MS
        assert all(is_taken(limiter, f"address:{day}-{number}", at_ms) for number in range(4))
        assert limiter.counters == 4


def test_times_are_merged_where_there_are_too_many_and_the_limits_still_hold() -> None:
    limiter = RateLimiter(limits(per_hour=200), most_times=0)
    taken = [second for second in range(0, 7_200) if is_taken(limiter, CLIENT, START_MS + second * 1000)]
    assert limiter.times <= FEW + 2
    for second in taken:
        assert len([other for other in taken if second - 3_600 < other <= second]) <= 200
    assert len(taken) > 200


@pytest.mark.parametrize("back_ms", [1, MINUTE_MS, DAY_MS, 400 * DAY_MS])
def test_a_clock_that_is_set_back_frees_nobody_and_nobody_waits_longer_for_it(back_ms: int) -> None:
    limiter = RateLimiter(limits(per_day=2))
    assert [is_taken(limiter, CLIENT, START_MS) for _ in range(2)] == [True, True]
    with pytest.raises(RateLimitedError) as refused:
        limiter.take(CLIENT, START_MS - back_ms)
    assert refused.value.values["retry_after_s"] == DAY_MS // 1000
    assert not is_taken(limiter, CLIENT, START_MS - back_ms + DAY_MS - 1)
    assert is_taken(limiter, CLIENT, START_MS - back_ms + DAY_MS)


@given(st.lists(st.integers(-10_000, 10_000)))
def test_steady_times_never_decrease_and_run_as_the_clock_does_while_it_runs_forward(steps_ms: list[int]) -> None:
    steady, clock_ms, last_ms = SteadyTime(), START_MS, SteadyTime().at(START_MS)
    steady.at(clock_ms)
    for step_ms in steps_ms:
        clock_ms += step_ms
        now_ms = steady.at(clock_ms)
        assert now_ms - last_ms == max(0, step_ms)
        assert steady.on_clock(now_ms) == clock_ms
        last_ms = now_ms


@given(st.lists(st.tuples(st.integers(0, HOUR_MS), st.integers(1, 9)), max_size=80), st.integers(1, 60), st.data())
def test_counts_are_those_of_a_plain_list_and_merged_ones_are_never_lower(
    steps: list[tuple[int, int]], allowed: int, data: st.DataObject
) -> None:
    counts, plain, now_ms = SpanCounts(), [], START_MS
    for gap_ms, amount in steps:
        now_ms += gap_ms
        counts.add(now_ms, amount)
        plain.append((now_ms, amount))
    if data.draw(st.booleans()):
        until_ms = data.draw(st.integers(START_MS, now_ms))
        counts.forget(until_ms)
        plain = [(at_ms, amount) for at_ms, amount in plain if at_ms > until_ms]
    after_ms = data.draw(st.integers(START_MS, now_ms))
    exact = sum(amount for at_ms, amount in plain if at_ms > after_ms)
    assert counts.total(after_ms) == exact
    if sum(amount for _, amount in plain) >= allowed:
        room_ms = counts.room_at_ms(allowed, DAY_MS)
        assert sum(amount for at_ms, amount in plain if at_ms > room_ms - DAY_MS) < allowed
        assert sum(amount for at_ms, amount in plain if at_ms > room_ms - DAY_MS - 1) >= allowed
    counts.merge(now_ms)
    assert counts.total(after_ms) >= exact
    assert counts.total(START_MS - 1) == sum(amount for _, amount in plain)


def test_merged_counts_of_a_whole_day_are_few() -> None:
    counts, shuffled = SpanCounts(), random.Random(7)
    for at_ms in sorted(shuffled.randrange(DAY_MS) for _ in range(20_000)):
        counts.add(START_MS + at_ms, 1)
    counts.merge(START_MS + DAY_MS)
    assert len(counts) <= FEW


def test_a_setting_names_one_principal_or_a_kind_and_the_more_special_one_holds() -> None:
    limiter = RateLimiter(
        limits(per_minute=1),
        {"address:*": limits(per_minute=2), CLIENT: limits(per_minute=3)},
        {"cancel": limits(per_minute=4)},
    )

    def taken(user_id: str, endpoint: str = "chat") -> int:
        return [is_taken(limiter, user_id, START_MS, endpoint) for _ in range(6)].count(True)

    assert [taken("token:ci"), taken("address:other"), taken(CLIENT), taken(CLIENT, "cancel")] == [1, 2, 3, 4]


def test_users_at_the_terminal_have_rates_only_if_a_setting_says_so_and_batches_never() -> None:
    once = limits(per_minute=1)

    def taken(limiter: RateLimiter, user_id: str) -> int:
        return [is_taken(limiter, user_id, START_MS, "chat") for _ in range(3)].count(True)

    assert taken(RateLimiter(once), ANN) == 3
    assert taken(RateLimiter(once, {ANN: once}), ANN) == 1
    assert taken(RateLimiter(once, limited=("user",)), ANN) == 1
    assert taken(RateLimiter(once, limited=("user",)), CLIENT) == 3
    assert taken(RateLimiter(once, {BATCH: once, "batch:*": once}, {"chat": once}, limited=("batch",)), BATCH) == 3
