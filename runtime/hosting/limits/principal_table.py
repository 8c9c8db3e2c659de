"""Keeps a counter for each principal within bounded memory: a flood of addresses escapes no limit.

The first principals have counters of their own until these are idle. The rest share cells: each is counted in one cell
of every row, chosen by a keyed hash that callers cannot foresee. A principal is at its limit only if all of its cells
are, so a shared cell counts too much at times, and never too little. Nothing is evicted that still counts.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

MAX_PRINCIPALS = 4_096
ROWS, CELLS = 2, 2_048


class Counter(Protocol):
    """Counts something of a principal."""

    def is_idle(self, now_ms: int) -> bool:
        """Return True if the counter limits nobody any more: it is as good as a new one."""


Counting = TypeVar("Counting", bound=Counter)


class PrincipalTable(Generic[Counting]):
    """Holds counters by principal, of which `most` have their own.

    `new` creates a counter, and `dropped` is called for each that was idle and is dropped.
    """

    def __init__(
        self,
        new: Callable[[], Counting],
        most: int = MAX_PRINCIPALS,
        cells: int = CELLS,
        dropped: Callable[[Counting], None] = lambda counter: None,
    ) -> None:
        self._new = new
        self._dropped = dropped
        self._most = most
        self._width = cells
        self._own: OrderedDict[str, Counting] = OrderedDict()
        self._cells: dict[tuple[int, int], Counting] = {}
        self._salt = secrets.token_bytes(16)

    def __len__(self) -> int:
        """Return the number of counters."""
        return len(self._own) + len(self._cells)

    def own(self) -> Iterator[tuple[str, Counting]]:
        """Yield the principals with counters of their own."""
        yield from self._own.items()

    def found(self, name: str) -> tuple[Counting, ...]:
        """Return the counters of a principal that were made already: the least of them holds; none: nothing counted."""
        if name in self._own:
            return (self._own[name],)
        shared = [self._cells.get(place) for place in self._places(name)] if self._cells else []
        return tuple(cell for cell in shared if cell is not None) if all(shared) else ()

    def counters(self, name: str, now_ms: int) -> tuple[Counting, ...]:
        """Return the counters to count something of a principal in, all of them; the least of them holds."""
        if name in self._own:
            self._own.move_to_end(name)
            return (self._own[name],)
        places = self._places(name)
        # Whoever was counted in cells has no idle one among them.
        if all(place in self._cells and not self._cells[place].is_idle(now_ms) for place in places):
            return tuple(self._cells[place] for place in places)
        if self._has_room(now_ms):
            self._own[name] = self._new()
            return (self._own[name],)
        for place in places:
            if place not in self._cells:
                self._cells[place] = self._new()
        return tuple(self._cells[place] for place in places)

    def _has_room(self, now_ms: int) -> bool:
        while len(self._own) >= self._most:
            oldest = next(iter(self._own))
            if not self._own[oldest].is_idle(now_ms):
                return False
            self._dropped(self._own.pop(oldest))
        return True

    def _places(self, name: str) -> list[tuple[int, int]]:
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=8 * ROWS).digest()
        return [(row, int.from_bytes(digest[8 * row : 8 * row + 8]) % self._width) for row in range(ROWS)]
