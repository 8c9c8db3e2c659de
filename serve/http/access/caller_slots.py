"""Bounds how many requests of one caller are answered at once, so that nobody occupies it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

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
        give_back = self.take(user_id)
        try:
            yield
        finally:
            give_back()

    def take(self, user_id: str) -> Callable[[], None]:
        """Take a slot, and return what gives it back. Raises RateLimitedError if the caller has all of its slots."""
        if self._under_way.get(user_id, 0) >= self._most:
            raise RateLimitedError(
                f"{self._most} requests of '{user_id}' are being answered, limit {self._most}; "
                f"try again in {RETRY_AFTER_S} s",
                user_id=user_id,
                retry_after_s=RETRY_AFTER_S,
            )
        self._under_way[user_id] += 1
        return partial(self._give_back, user_id)

    def _give_back(self, user_id: str) -> None:
        self._under_way[user_id] -= 1
        if not self._under_way[user_id]:
            del self._under_way[user_id]
