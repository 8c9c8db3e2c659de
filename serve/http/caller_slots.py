"""Bounds how many requests of one caller a replica answers at once, so that nobody occupies it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager

from runtime.errors import RateLimitedError

RETRY_AFTER_S = 1


class CallerSlots:
    """Counts the requests under way of each caller, `most` of which are permitted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return the number of callers with requests under way."""
        return len(self._under_way)

    @contextmanager
    def slot(self, user_id: str) -> Iterator[None]:
        """Hold a slot while the block runs. Raises RateLimitedError if the caller has all of its slots."""
        self.check(user_id)
        self._under_way[user_id] += 1
        try:
            yield
        finally:
            self._under_way[user_id] -= 1
            if not self._under_way[user_id]:
                del self._under_way[user_id]

    def check(self, user_id: str) -> None:
        """Raise RateLimitedError if the caller has all of its slots."""
        if self._under_way.get(user_id, 0) >= self._most:
            raise RateLimitedError(
                f"{self._most} requests of '{user_id}' are being answered, limit {self._most}; "
                f"try again in {RETRY_AFTER_S} s",
                user_id=user_id,
                retry_after_s=RETRY_AFTER_S,
            )

    async def held(self, user_id: str, stream: AsyncIterator[str]) -> AsyncGenerator[str, None]:
        """Yield the parts of a stream, which holds a slot to its end; call `check` before the response begins."""
        with self.slot(user_id):
            async for part in stream:
                yield part
