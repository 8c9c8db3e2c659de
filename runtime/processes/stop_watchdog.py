"""Ends a process in which work that was told to stop is still running after five seconds.

Python cannot stop a thread, nor a coroutine that swallows its cancellation. Such work stops only with its process, so
the host passes what that means: an agent's actor exits, and Ray starts another. A thread watches, since the work may
block the event loop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

STOP_PATIENCE_S = 5.0


class StopDeadlines:
    """Tracks work that was told to stop and has not ended. Pure: the caller passes the time."""

    def __init__(self, patience_s: float = STOP_PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._due_s: dict[str, float] = {}

    def told(self, work: str, now_s: float) -> None:
        """Record that work was told to stop; only the first time counts."""
        self._due_s.setdefault(work, now_s + self._patience_s)

    def ended(self, work: str) -> None:
        """Record that work has ended, told to or not."""
        self._due_s.pop(work, None)

    def overdue(self, now_s: float) -> list[str]:
        """Return the work whose patience is used up, in the order in which it was told to stop."""
        return [work for work, due_s in self._due_s.items() if now_s >= due_s]

    def next_due_s(self) -> float | None:
        """Return the instant at which work is overdue next; None if none is awaited."""
        return min(self._due_s.values(), default=None)


class StopWatchdog:
    """Calls `on_stuck` with the overdue work, once, from a thread of its own. Safe to call from any thread."""

    def __init__(self, on_stuck: Callable[[list[str]], None], patience_s: float = STOP_PATIENCE_S) -> None:
        self._on_stuck = on_stuck
        self._deadlines = StopDeadlines(patience_s)
        self._changed = threading.Condition()
        self._is_watching = False

    def told(self, work: str) -> None:
        """Begin to wait for the end of work that was told to stop."""
        with self._changed:
            self._deadlines.told(work, time.monotonic())
            if not self._is_watching:
                # Started by the first cancellation: most processes never need it.
                self._is_watching = True
                threading.Thread(target=self._watch, name="stop-watchdog", daemon=True).start()
            self._changed.notify()

    def ended(self, work: str) -> None:
        """Stop waiting for work that has ended."""
        with self._changed:
            self._deadlines.ended(work)
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not (stuck := self._deadlines.overdue(time.monotonic())):
                due_s = self._deadlines.next_due_s()
                self._changed.wait(None if due_s is None else max(0.0, due_s - time.monotonic()))
            self._is_watching = False
            for work in stuck:
                self._deadlines.ended(work)
        self._on_stuck(stuck)
