"""Caches values within a bound on their total size, dropping those that were used least recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SizedCache(Generic[Key, Value]):
    """Caches values by key; for several threads. The unit of sizes is the caller's: bytes, characters, rows."""

    def __init__(self, max_size: int) -> None:
        """Configure the cache: all values together have at most `max_size`; a larger single value is not kept."""
        self._max_size = max_size
        self._size = 0
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._guard = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        """Return the value of a key and mark it as used, or None."""
        with self._guard:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value in place of the key's earlier one, and drop others until all fit."""
        with self._guard:
            earlier = self._entries.pop(key, None)
            self._size -= earlier[1] if earlier is not None else 0
            if size > self._max_size:
                return
            self._entries[key] = (value, size)
            self._size += size
            while self._size > self._max_size:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._size -= dropped
