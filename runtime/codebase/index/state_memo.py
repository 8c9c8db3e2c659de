"""Keeps what was read from an index, as long as no refresh changes the index."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Stated(Protocol):
    """Says in which state an index is."""

    def generation(self) -> str:
        """Return a mark that changes with every refresh that changed the index."""
        ...


class StateMemo(Generic[T]):
    """Reads a value once for each state of an index, and keeps the last; for several threads."""

    def __init__(self, index: Stated, read: Callable[[], T]) -> None:
        self._index = index
        self._read = read
        self._guard = Lock()
        self._kept: tuple[str, T] | None = None

    def value(self) -> T:
        """Return the value for the index as it is now."""
        # Asked for first: if a refresh ends meanwhile, what is read belongs to no later state.
        state = self._index.generation()
        with self._guard:
            if self._kept is None or self._kept[0] != state or not state:
                self._kept = (state, self._read())
            return self._kept[1]
