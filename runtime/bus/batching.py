"""Batches messages queued while a call to the same peer is in flight.

The cost of a call hardly depends on its size, so under load many items share few calls. Without load nothing waits: the
first item is sent at once, alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

MAX_BATCH_ITEMS = 256
MAX_BATCH_BYTES = 1_000_000
MAX_CONCURRENT_CALLS = 2

Outcome = TypeVar("Outcome")


class Batcher(Generic[Outcome]):
    """Sends items to one peer in the order in which they were submitted.

    `call` takes up to `MAX_BATCH_ITEMS` items, of `MAX_BATCH_BYTES` together or one alone, and returns one outcome for
    each. What it raises is raised for every item that was in that batch, and for no other.
    """

    def __init__(self, call: Callable[[list[bytes]], Awaitable[Sequence[Outcome]]]) -> None:
        self._call = call
        self._waiting: deque[tuple[bytes, asyncio.Future[Outcome]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_due = False

    async def send(self, item: bytes) -> Outcome:
        """Return the outcome of `item`. Raises what the call raised that carried it."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((item, outcome))
        if not self._is_due and len(self._under_way) < MAX_CONCURRENT_CALLS:
            self._is_due = True
            loop.call_soon(self._go)  # items sent in the same turn of the event loop share the call
        return await outcome

    def _go(self) -> None:
        self._is_due = False
        if self._waiting:
            task = asyncio.get_running_loop().create_task(self._carry(self._take()))
            self._under_way.add(task)
            task.add_done_callback(self._next)

    def _take(self) -> list[tuple[bytes, asyncio.Future[Outcome]]]:
        taken, size = [self._waiting.popleft()], 0
        while self._waiting and len(taken) < MAX_BATCH_ITEMS:
            size += len(taken[-1][0])
            if size + len(self._waiting[0][0]) > MAX_BATCH_BYTES:
                break
            taken.append(self._waiting.popleft())
        return taken

    def _next(self, done: asyncio.Task[None]) -> None:
        self._under_way.discard(done)
        self._go()

    async def _carry(self, taken: list[tuple[bytes, asyncio.Future[Outcome]]]) -> None:
        try:
            outcomes = await self._call([item for item, _ in taken])
            settled = list(zip((future for _, future in taken), outcomes, strict=True))
        except Exception as error:  # noqa: BLE001 - it is raised where the items came from
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
            return
        for future, outcome in settled:
            if not future.done():
                future.set_result(outcome)
