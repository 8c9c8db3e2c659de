"""Provides time as a port: the system clock, and a fake clock for tests.

The kernel itself never reads a clock; hosts read one of these and put the instant into the event.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Clock(Protocol):
    """Provides wall time, monotonic time, and sleep."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""

    def monotonic_s(self) -> float:
        """Return seconds on a clock that never goes back."""

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds of this clock."""


class SystemClock:
    """Reads the machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


class FakeClock:
    """Stands still until `advance` is called; sleepers wake in the order of their times."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = start_ms
        self._start_ms = start_ms
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return (self._now_ms - self._start_ms) / 1000

    async def sleep(self, delay_s: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_ms + round(delay_s * 1000), next(self._order), future))
        await future

    async def advance(self, delay_s: float) -> None:
        """Move time forward, waking each sleeper at its own instant and letting it run."""
        target_ms = self._now_ms + round(delay_s * 1000)
        await _let_others_run()
        while self._sleepers and self._sleepers[0][0] <= target_ms:
            due_ms, _, future = heapq.heappop(self._sleepers)
            self._now_ms = max(self._now_ms, due_ms)
            if not future.done():
                future.set_result(None)
            await _let_others_run()
        self._now_ms = target_ms


def seconds(span_ms: int) -> str:
    """Return a span in words: 5_000 is `5 s`, 1_250 is `1.25 s`."""
    return f"{span_ms / 1000:.3f}".rstrip("0").rstrip(".") + " s"


def utc_time(at_ms: int) -> str:
    """Return an instant since the epoch in words, to the second: `2026-11-22T23:48:16Z`.

    One outside the years 1 to 9999, which only a document from elsewhere may hold, is told in milliseconds.
    """
    try:
        return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms after 1970-01-01T00:00:00Z"


async def wait_at_most(clock: Clock, timeout_s: float, work: Awaitable[Result]) -> Result:
    """Return the result of `work`. Cancel it after `timeout_s` seconds of the clock, and raise TimeoutError."""
    task = asyncio.ensure_future(work)
    timer = asyncio.create_task(clock.sleep(timeout_s))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError(f"not done within {timeout_s:g} s")
        return task.result()
    finally:
        timer.cancel()
        task.cancel()


async def _let_others_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
