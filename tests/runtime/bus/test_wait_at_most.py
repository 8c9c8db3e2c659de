"""Waiting at most so long, on any clock."""

from __future__ import annotations

import asyncio

import pytest

from runtime.primitives.clock import FakeClock, wait_at_most


class Work:
    """Ends when told to; knows whether it was cancelled."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.cancelled = False

    async def run(self) -> str:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "done"


@pytest.mark.parametrize(("waited_s", "over"), [(4.999, False), (5, True), (5.001, True)])
async def test_work_is_cancelled_when_its_time_is_up(waited_s: float, over: bool) -> None:
    clock, work = FakeClock(), Work()
    waiting = asyncio.create_task(wait_at_most(clock, 5, work.run()))
    await clock.advance(waited_s)
    assert (waiting.done(), work.cancelled) == (over, over)
    if over:
        with pytest.raises(TimeoutError, match="not done within 5 s"):
            await waiting
    else:
        work.go_on.set()
        assert await waiting == "done"


async def test_what_the_work_raises_comes_out() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await wait_at_most(FakeClock(), 5, fail())


async def test_whoever_stops_waiting_cancels_the_work() -> None:
    clock, work = FakeClock(), Work()
    waiting = asyncio.create_task(wait_at_most(clock, 5, work.run()))
    await clock.advance(1)
    waiting.cancel()
    await clock.advance(0)
    assert (waiting.cancelled(), work.cancelled) == (True, True)
