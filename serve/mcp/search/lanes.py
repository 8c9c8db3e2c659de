"""Lets calls begin in turn: so many at once in a lane, and in all lanes together.

A call that has run for a while no longer counts, so that slow calls hold up others for that long at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Lanes:
    """Bounds the calls that began in the last `slow_after_s` seconds and have not ended, by lane and in all."""

    def __init__(self, per_lane: int, in_all: int, slow_after_s: float) -> None:
        self._per_lane = per_lane
        self._slow_after_s = slow_after_s
        self._all = asyncio.Semaphore(in_all)
        # A lane that nobody is in or waits for disappears.
        self._lanes: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._lanes)

    @asynccontextmanager
    async def turn(self, lane: Hashable) -> AsyncIterator[None]:
        """Wait for a place in a lane, and hold it for the block or until the call counts as slow."""
        own = self._lanes.get(lane)
        if own is None:
            own = self._lanes[lane] = asyncio.Semaphore(self._per_lane)
        async with held_for(own, self._slow_after_s), held_for(self._all, self._slow_after_s):
            yield


@asynccontextmanager
async def held_for(semaphore: asyncio.Semaphore, limit_s: float) -> AsyncIterator[None]:
    """Hold a semaphore for the block, at most for that time."""
    await semaphore.acquire()
    is_held = True

    def release() -> None:
        nonlocal is_held
        if is_held:
            is_held = False
            semaphore.release()

    timer = asyncio.get_running_loop().call_later(limit_s, release)
    try:
        yield
    finally:
        timer.cancel()
        release()
