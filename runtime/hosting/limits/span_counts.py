"""Counts amounts over the last day, exactly where there is room, and never too low.

Times are milliseconds; those given to one counter never decrease: `SteadyTime` sees to that.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
FEW = 64

# Amounts up to that age are merged in steps of that width where there is no room to keep them apart.
_STEPS_MS = ((MINUTE_MS, 5_000), (HOUR_MS, 300_000))


class SpanCounts:
    """Holds amounts with their times, oldest first, as running totals."""

    __slots__ = ("_base", "_sums", "_times")

    def __init__(self) -> None:
        self._times, self._sums = array("q"), array("q")
        self._base = 0

    def __len__(self) -> int:
        """Return the number of times that are held."""
        return len(self._times)

    @property
    def last_ms(self) -> int | None:
        """The time of the newest amount."""
        return self._times[-1] if self._times else None

    @property
    def amounts(self) -> list[tuple[int, int]]:
        """The amounts with their times, oldest first."""
        found, before = [], self._base
        for at_ms, running in zip(self._times, self._sums, strict=True):
            found.append((at_ms, running - before))
            before = running
        return found

    def add(self, at_ms: int, amount: int) -> None:
        """Count an amount at a time that is not before the last one."""
        running = self._total() + amount
        if self._times and self._times[-1] == at_ms:
            self._sums[-1] = running
        else:
            self._times.append(at_ms)
            self._sums.append(running)

    def forget(self, until_ms: int) -> None:
        """Drop the amounts up to a time (inclusive)."""
        dropped = bisect_right(self._times, until_ms)
        if dropped == len(self._times):
            self.__init__()  # type: ignore[misc]
        elif dropped:
            self._base = self._sums[dropped - 1]
            del self._times[:dropped], self._sums[:dropped]

    def total(self, after_ms: int) -> int:
        """Return the sum of the amounts after a time (exclusive)."""
        before = bisect_right(self._times, after_ms)
        return self._total() - (self._sums[before - 1] if before else self._base)

    def room_at_ms(self, allowed: int, span_ms: int) -> int:
        """Return when the sum over a span, which is not below `allowed`, will be if nothing is added; `allowed` > 0."""
        return self._times[bisect_right(self._sums, self._total() - allowed)] + span_ms

    def merge(self, now_ms: int) -> None:
        """Merge old amounts into some fifty, each at its latest time: they then count longer, never shorter."""
        times, sums = array("q"), array("q")
        step: tuple[int, int] | None = None
        for at_ms, running in zip(self._times, self._sums, strict=True):
            here = _step(at_ms, now_ms)
            if here == step:
                times[-1], sums[-1] = at_ms, running
            else:
                times.append(at_ms)
                sums.append(running)
            step = here
        self._times, self._sums = times, sums

    def _total(self) -> int:
        return self._sums[-1] if self._sums else self._base


def _step(at_ms: int, now_ms: int) -> tuple[int, int]:
    width_ms = next((width_ms for age_ms, width_ms in _STEPS_MS if now_ms - at_ms <= age_ms), HOUR_MS)
    return width_ms, at_ms // width_ms


class SteadyTime:
    """Makes the times of a clock that may be set back into times that never decrease.

    The span by which it was set back counts as no time at all: nobody gains by it, and nobody waits longer for it.
    """

    def __init__(self) -> None:
        self._ahead_ms = 0
        self._last_ms: int | None = None

    def at(self, now_ms: int) -> int:
        """Return the steady time at a time of the clock."""
        steady_ms = now_ms + self._ahead_ms
        if self._last_ms is not None and steady_ms < self._last_ms:
            self._ahead_ms += self._last_ms - steady_ms
            steady_ms = self._last_ms
        self._last_ms = steady_ms
        return steady_ms

    def on_clock(self, steady_ms: int) -> int:
        """Return the time of the clock at which a steady time will have come."""
        return steady_ms - self._ahead_ms
