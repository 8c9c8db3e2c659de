"""Runs the timers of runs on an event loop: each fires once, and timers of finished runs are dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.supervision.commands import SetTimer

Fire = Callable[[RunId, str], Awaitable[None]]


class Timers:
    """Calls `fire(run_id, timer_id)` when a timer comes due."""

    def __init__(self, clock: Clock, fire: Fire) -> None:
        self._clock = clock
        self._fire = fire
        self._tasks: dict[RunId, set[asyncio.Task[None]]] = {}

    def set(self, run_id: RunId, command: SetTimer) -> None:
        """Start a timer; one that is already due fires at once."""
        task = asyncio.create_task(self._wait(run_id, command))
        tasks = self._tasks.setdefault(run_id, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def drop(self, run_id: RunId) -> None:
        """Cancel the timers of a run, except one that is firing right now."""
        for task in self._tasks.pop(run_id, set()):
            if task is not asyncio.current_task():
                task.cancel()

    def close(self) -> None:
        """Cancel every timer."""
        for run_id in list(self._tasks):
            self.drop(run_id)

    async def _wait(self, run_id: RunId, command: SetTimer) -> None:
        await self._clock.sleep(max(0, command.due_ms - self._clock.now_ms()) / 1000)
        await self._fire(run_id, command.timer_id)
