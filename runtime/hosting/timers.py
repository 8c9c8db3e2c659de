"""Runs the timers of runs on an event loop: each fires once, and timers of finished runs are dropped.

One task sleeps until the earliest of them, as a run sets several timers and few of them ever fire.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Awaitable, Callable

from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.supervision.commands import SetTimer

DROPPED_KEPT = 1_000

Fire = Callable[[RunId, str], Awaitable[None]]


class Timers:
    """Calls `fire(run_id, timer_id)` when a timer comes due, in a task of its own."""

    def __init__(self, clock: Clock, fire: Fire) -> None:
        self._clock = clock
        self._fire = fire
        self._numbers = itertools.count()
        self._queue: list[tuple[int, int, RunId, str]] = []
        self._pending: dict[RunId, set[int]] = {}
        self._dropped = 0
        self._firing: dict[RunId, set[asyncio.Task[None]]] = {}
        self._sleeper: asyncio.Task[None] | None = None
        self._wakes_ms = 0

    def set(self, run_id: RunId, command: SetTimer) -> None:
        """Start a timer; one that is already due fires at once."""
        number = next(self._numbers)
        # Steps of the wall clock do not move a timer that is set.
        due_ms = math.ceil(self._now_ms()) + max(0, command.due_ms - self._clock.now_ms())
        heapq.heappush(self._queue, (due_ms, number, run_id, command.timer_id))
        self._pending.setdefault(run_id, set()).add(number)
        if self._sleeper is None or due_ms < self._wakes_ms:
            self._sleep_anew()

    def drop(self, run_id: RunId) -> None:
        """Cancel the timers of a run, except one that is firing right now."""
        self._dropped += len(self._pending.pop(run_id, ()))
        for task in self._firing.pop(run_id, set()):
            if task is not asyncio.current_task():
                task.cancel()
        if self._dropped > DROPPED_KEPT and self._dropped > len(self._queue) // 2:
            self._queue = [timer for timer in self._queue if self._is_pending(timer)]
            heapq.heapify(self._queue)
            self._dropped = 0

    def close(self) -> None:
        """Cancel every timer."""
        for run_id in {*self._pending, *self._firing}:
            self.drop(run_id)
        if self._sleeper is not None:
            self._sleeper.cancel()
            self._sleeper = None

    def _sleep_anew(self) -> None:
        if self._sleeper is not None:
            self._sleeper.cancel()
        self._wakes_ms = self._queue[0][0]
        self._sleeper = asyncio.create_task(self._sleep())

    async def _sleep(self) -> None:
        while self._queue:
            timer = self._queue[0]
            due_ms, number, run_id, timer_id = timer
            if not self._is_pending(timer):
                heapq.heappop(self._queue)
                self._dropped -= 1
                continue
            wait_ms = due_ms - math.floor(self._now_ms())
            if wait_ms > 0:
                self._wakes_ms = due_ms
                await self._clock.sleep(wait_ms / 1000)
                continue
            heapq.heappop(self._queue)
            self._forget(run_id, number)
            self._begin(run_id, timer_id)
        self._sleeper = None

    def _begin(self, run_id: RunId, timer_id: str) -> None:
        task = asyncio.ensure_future(self._fire(run_id, timer_id))
        firing = self._firing.setdefault(run_id, set())
        firing.add(task)

        def over(done: asyncio.Task[None]) -> None:
            firing.discard(done)
            if not firing and self._firing.get(run_id) is firing:
                del self._firing[run_id]

        task.add_done_callback(over)

    def _now_ms(self) -> float:
        """Return the time of the monotonic clock, without the errors of its binary fractions."""
        return round(self._clock.monotonic_s() * 1000, 3)

    def _is_pending(self, timer: tuple[int, int, RunId, str]) -> bool:
        return timer[1] in self._pending.get(timer[2], ())

    def _forget(self, run_id: RunId, number: int) -> None:
        pending = self._pending[run_id]
        pending.discard(number)
        if not pending:
            del self._pending[run_id]
