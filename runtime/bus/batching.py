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
        self._in_flight: set[asyncio.Task[None]] = set()
        self._is_due = False

    async def send(self, item: bytes) -> Outcome:
        """Return the outcome of `item`. Raises what the call raised that carried it."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((item, outcome))
        if not self._is_due and len(self._in_flight) < MAX_CONCURRENT_CALLS:
            self._is_due = True
            loop.call_soon(self._start_call)  # items sent in the same turn of the event loop share the call
        return await outcome

    def _start_call(self) -> None:
        self._is_due = False
        if self._waiting:
            task = asyncio.get_running_loop().create_task(self._send_batch(self._next_batch()))
            self._in_flight.add(task)
            task.add_done_callback(self._on_call_done)

    def _next_batch(self) -> list[tuple[bytes, asyncio.Future[Outcome]]]:
        batch, size = [self._waiting.popleft()], 0
        while self._waiting and len(batch) < MAX_BATCH_ITEMS:
            size += len(batch[-1][0])
            if size + len(self._waiting[0][0]) > MAX_BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _on_call_done(self, done: asyncio.Task[None]) -> None:
        self._in_flight.discard(done)
        self._start_call()

    async def _send_batch(self, batch: list[tuple[bytes, asyncio.Future[Outcome]]]) -> None:
        try:
            outcomes = await self._call([item for item, _ in batch])
            settled = list(zip((future for _, future in batch), outcomes, strict=True))
        except Exception as error:  # noqa: BLE001 - it is raised where the items came from
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for future, outcome in settled:
            if not future.done():
                future.set_result(outcome)
