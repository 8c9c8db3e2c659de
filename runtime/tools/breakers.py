"""Keeps the circuit breakers of tools in one process: one for each tool and scope.

A scope is what the tool works on, as its subject names it: a repository, for tools over a code base. A breaker of its
own for each keeps one that makes a tool fail from switching the tool off for all others.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import NamedTuple

from runtime.primitives.clock import Clock
from runtime.tools.health import CLOSED, Ending, ToolBreaker, admit, record

MAX_BREAKERS = 1_000


class Admission(NamedTuple):
    """Tells whether a call may be made, its number, and else in how many seconds the next may be."""

    is_admitted: bool
    number: int
    retry_after_s: float = 0.0


class ToolBreakers:
    """Admits calls and records how they ended. Those used longest ago are forgotten beyond a thousand."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._breakers: OrderedDict[tuple[str, str], ToolBreaker] = OrderedDict()

    def admit(self, tool: str, scope: str) -> Admission:
        """Decide on a call; report the end of an admitted one to `record` under its number."""
        number, now_ms = next(self._numbers), self._clock.now_ms()
        breaker, is_admitted = admit(self._breakers.get((tool, scope), CLOSED), number, now_ms)
        if not is_admitted:
            return Admission(False, number, (breaker.probe_at_ms - now_ms) / 1000)
        self._keep(tool, scope, breaker)
        return Admission(True, number)

    def record(self, tool: str, scope: str, call: int, ending: Ending) -> None:
        """Record how the call with that number ended."""
        breaker = self._breakers.get((tool, scope), CLOSED)
        self._keep(tool, scope, record(breaker, call, ending, self._clock.now_ms()))

    def _keep(self, tool: str, scope: str, breaker: ToolBreaker) -> None:
        if breaker == CLOSED:
            self._breakers.pop((tool, scope), None)
            return
        self._breakers[tool, scope] = breaker
        self._breakers.move_to_end((tool, scope))
        while len(self._breakers) > MAX_BREAKERS:
            self._breakers.popitem(last=False)
