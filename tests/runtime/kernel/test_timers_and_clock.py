"""Time as a port: the fake clock wakes sleepers in order, timers fire once at their instant."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hosting.timers import DROPPED_KEPT, Timers
from runtime.primitives.clock import FakeClock, SystemClock, seconds, utc_time
from runtime.primitives.ids import RunId, new_run_id
from runtime.supervision.commands import SetTimer

RUN, OTHER = RunId("r-1"), RunId("r-2")


class Fired:
    """What fired, and when."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.seen: list[tuple[str, str, int]] = []
        self.timers = Timers(clock, self.fire)

    async def fire(self, run_id: RunId, timer_id: str) -> None:
        self.seen.append((run_id, timer_id, self.clock.now_ms()))

    def set(self, timer_id: str, due_ms: int, run_id: RunId = RUN) -> None:
        self.timers.set(run_id, SetTimer(timer_id, due_ms))


async def test_the_fake_clock_stands_still_until_it_is_advanced() -> None:
    clock = FakeClock(1_000)
    assert (clock.now_ms(), clock.monotonic_s()) == (1_000, 0)
    await clock.advance(1.5)
    assert (clock.now_ms(), clock.monotonic_s()) == (2_500, 1.5)


@pytest.mark.parametrize(
    ("span_ms", "told"),
    [(0, "0 s"), (1, "0.001 s"), (999, "0.999 s"), (5_000, "5 s"), (100_000, "100 s"), (86_400_000_000, "86400000 s")],
)
def test_spans_are_told_in_seconds(span_ms: int, told: str) -> None:
    assert seconds(span_ms) == told


def test_instants_are_told_as_a_time_of_day() -> None:
    assert utc_time(2_999) == "1970-01-01T00:00:02Z"
    assert utc_time(253_402_300_799_999) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("at_ms", [253_402_300_800_000, 2**64 - 1, -62_135_596_800_001, -(2**63)])
def test_instants_that_no_calendar_has_are_told_in_milliseconds(at_ms: int) -> None:
    assert utc_time(at_ms) == f"{at_ms} ms after 1970-01-01T00:00:00Z"


async def test_sleepers_wake_in_the_order_of_their_times_each_at_its_own_instant() -> None:
    clock = FakeClock(0)
    woken: list[tuple[str, int]] = []

    async def sleeper(name: str, delay_s: float) -> None:
        await clock.sleep(delay_s)
        woken.append((name, clock.now_ms()))

    tasks = [asyncio.create_task(sleeper(*parts)) for parts in (("late", 3), ("soon", 1), ("also soon", 1), ("far", 9))]
    await clock.advance(3)
    assert woken == [("soon", 1_000), ("also soon", 1_000), ("late", 3_000)]
    await clock.advance(6)
    assert woken[-1] == ("far", 9_000)
    await asyncio.gather(*tasks)


async def test_a_sleeper_that_sleeps_again_wakes_again_within_one_advance() -> None:
    clock = FakeClock(0)
    woken: list[int] = []

    async def ticker() -> None:
        for _ in range(3):
            await clock.sleep(1)
            woken.append(clock.now_ms())

    task = asyncio.create_task(ticker())
    await clock.advance(10)
    assert woken == [1_000, 2_000, 3_000]
    await task


async def test_a_cancelled_sleeper_is_passed_over() -> None:
    clock = FakeClock(0)
    task = asyncio.create_task(clock.sleep(1))
    await clock.advance(0)
    task.cancel()
    await clock.advance(2)
    assert task.cancelled()
    assert clock.now_ms() == 2_000


async def test_no_sleeper_wakes_a_millisecond_early() -> None:
    for delay_ms in range(995, 1_300):
        clock = FakeClock()
        start_ms = clock.now_ms()
        task = asyncio.create_task(clock.sleep(delay_ms / 1000))
        await clock.advance((delay_ms - 1) / 1000)
        assert not task.done()
        await clock.advance(0.001)
        assert task.done()
        assert clock.now_ms() == start_ms + delay_ms


async def test_the_system_clock_tells_wall_time_and_never_goes_back() -> None:
    clock = SystemClock()
    first = clock.monotonic_s()
    await clock.sleep(0)
    assert clock.monotonic_s() >= first
    assert clock.now_ms() > 1_700_000_000_000


async def test_a_timer_fires_once_at_its_instant_and_not_a_millisecond_before() -> None:
    fired = Fired(FakeClock(0))
    fired.set("t", 1_001)
    await fired.clock.advance(1)
    assert fired.seen == []
    await fired.clock.advance(0.001)
    await fired.clock.advance(99)
    assert fired.seen == [(RUN, "t", 1_001)]


async def test_a_timer_whose_instant_has_passed_fires_at_once() -> None:
    fired = Fired(FakeClock(5_000))
    fired.set("t", 1_000)
    await fired.clock.advance(0)
    assert fired.seen == [(RUN, "t", 5_000)]


async def test_dropping_a_run_forgets_its_timers_and_no_others() -> None:
    fired = Fired(FakeClock(0))
    fired.set("a", 1_000)
    fired.set("b", 2_000)
    fired.set("c", 2_000, OTHER)
    await fired.clock.advance(1)
    fired.timers.drop(RUN)
    fired.timers.drop(RunId("r-none"))
    await fired.clock.advance(5)
    assert fired.seen == [(RUN, "a", 1_000), (OTHER, "c", 2_000)]


async def test_a_timer_that_drops_its_own_run_is_not_cut_off() -> None:
    clock = FakeClock(0)
    finished: list[str] = []

    async def fire(run_id: RunId, timer_id: str) -> None:
        timers.drop(run_id)
        await asyncio.sleep(0)
        finished.append(timer_id)

    timers = Timers(clock, fire)
    timers.set(RUN, SetTimer("t", 1_000))
    await clock.advance(2)
    assert finished == ["t"]


async def test_a_timer_that_is_due_before_all_others_fires_first() -> None:
    fired = Fired(FakeClock(0))
    for timer_id, due_ms in (("late", 3_000), ("soon", 1_000), ("middle", 2_000), ("sooner", 500)):
        fired.set(timer_id, due_ms)
        await fired.clock.advance(0)
    await fired.clock.advance(9)
    assert fired.seen == [
        (RUN, timer_id, due_ms)
        for timer_id, due_ms in (("sooner", 500), ("soon", 1_000), ("middle", 2_000), ("late", 3_000))
    ]
    fired.set("again", 10_000)
    await fired.clock.advance(1)
    assert fired.seen[-1] == (RUN, "again", 10_000)


@pytest.mark.parametrize("stepped_ms", [-3_600_000, 3_600_000])
async def test_a_wall_clock_that_is_put_back_or_forward_moves_no_timer_that_is_set(stepped_ms: int) -> None:
    class SteppedClock(FakeClock):
        """Its wall clock may be off; time goes on as it was."""

        off_ms = 0

        def now_ms(self) -> int:
            return super().now_ms() + self.off_ms

    clock = SteppedClock()
    fired = Fired(clock)
    fired.set("before", clock.now_ms() + 1_000)
    await clock.advance(0)
    clock.off_ms = stepped_ms
    fired.set("after", clock.now_ms() + 2_000)
    await clock.advance(0.999)
    assert fired.seen == []
    await clock.advance(0.001)
    assert [timer_id for _, timer_id, _ in fired.seen] == ["before"]
    await clock.advance(1)
    assert [timer_id for _, timer_id, _ in fired.seen] == ["before", "after"]


async def test_a_timer_that_fires_holds_up_no_other() -> None:
    clock, fired = FakeClock(0), []

    async def fire(run_id: RunId, timer_id: str) -> None:
        fired.append(timer_id)
        await asyncio.Event().wait()

    timers = Timers(clock, fire)
    timers.set(RUN, SetTimer("first", 1_000))
    timers.set(OTHER, SetTimer("second", 1_001))
    await clock.advance(2)
    assert fired == ["first", "second"]
    timers.close()


async def test_dropped_timers_take_no_memory_however_long_they_would_have_run() -> None:
    fired = Fired(FakeClock(0))
    fired.set("kept", 5_000, OTHER)
    for number in range(5 * DROPPED_KEPT):
        run_id = RunId(f"r-of-{number}")
        fired.set("t", 10**9, run_id)
        fired.timers.drop(run_id)
        assert len(fired.timers._queue) <= DROPPED_KEPT + 2
    await fired.clock.advance(10)
    assert fired.seen == [(OTHER, "kept", 5_000)]


async def test_closing_forgets_every_timer() -> None:
    fired = Fired(FakeClock(0))
    fired.set("a", 1_000)
    fired.set("b", 1_000, OTHER)
    fired.timers.close()
    await fired.clock.advance(5)
    assert fired.seen == []


@given(st.integers(0, 2**44), st.integers(1, 2**20))
def test_run_ids_are_unique_and_sort_by_time(now_ms: int, later_ms: int) -> None:
    first, second = new_run_id(now_ms), new_run_id(now_ms)
    assert first != second
    assert first[:11] == second[:11]
    assert max(first, second) < new_run_id(now_ms + later_ms)
