"""Limits concurrent calls of a model and lets users take turns while calls wait.

A user with a hundred waiting calls and a user with one get the next two places, in whatever order they came.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class FairShare:
    """Admits `places` calls at once; waiting calls are admitted round-robin over users, first in first out per user."""

    def __init__(self, places: int) -> None:
        if places < 1:
            raise ValueError(f"a model needs a place or more, not {places}")
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a place."""
        return sum(len(queue) for queue in self._waiting.values())

    @asynccontextmanager
    async def place(self, user_id: str) -> AsyncGenerator[None, None]:
        """Hold a place while the block runs; a call that is cancelled while it waits leaves the queue."""
        await self._enter(user_id)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, user_id: str) -> None:
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user_id, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the place was granted before the cancellation arrived: pass it to the next call
            else:
                self._forget(user_id, turn)
            raise

    def _leave(self) -> None:
        self._free += 1
        while self._free > 0 and self._waiting:
            user_id, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[user_id] = queue  # behind the other users: this user had its turn
            if not turn.done():
                self._free -= 1
                turn.set_result(None)

    def _forget(self, user_id: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(user_id)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[user_id]
