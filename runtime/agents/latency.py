"""Watches whether a stage takes longer than the latency budget of its agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

from runtime.primitives.clock import Clock
from runtime.primitives.ids import StageKey
from runtime.supervision.events import LatencyPassed

Report = Callable[[LatencyPassed], Awaitable[None]]


class LatencyWatch:
    """Reports an attempt once as soon as it takes longer than `budget_ms`; an async context manager around it.

    A hook that blocks the event loop is reported when it ends. Without a budget nothing is watched.
    """

    def __init__(self, key: StageKey, budget_ms: int | None, clock: Clock, report: Report | None) -> None:
        self._key = key
        self._budget_ms = budget_ms
        self._clock = clock
        self._report = report
        self._started_ms = 0
        self._reported = False
        self._timer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        if self._budget_ms is None or self._report is None:
            return
        self._started_ms = self._clock.now_ms()
        self._timer = asyncio.create_task(self._wait(self._budget_ms))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is None or self._budget_ms is None:
            return
        if self._timer.done():
            self._timer.result()
        self._timer.cancel()
        if error is None and self._clock.now_ms() - self._started_ms > self._budget_ms:
            await self._pass(self._budget_ms)

    async def _wait(self, budget_ms: int) -> None:
        await self._clock.sleep((budget_ms + 1) / 1000)
        await self._pass(budget_ms)

    async def _pass(self, budget_ms: int) -> None:
        if self._report is not None and not self._reported:
            self._reported = True
            await self._report(LatencyPassed(self._key, budget_ms))
