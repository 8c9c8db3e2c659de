"""Judges the health of a tool, and opens its circuit breaker, from the outcomes of its latest calls. Pure.

    closed ──fifth error within five minutes──▶ open ──probe due──▶ half_open ──success──▶ closed
                                                 ▲                      └───────error───▶ open

Only errors of the tool itself count: it raised, timed out, or lost its process. Refused arguments, empty results and
cancelled calls are neither success nor error of a breaker; the first two are successes of its health.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

Health = Literal["unknown", "healthy", "degraded", "unhealthy"]
BreakerState = Literal["closed", "open", "half_open"]
Ending = Literal["success", "error", "neither"]

MIN_CALLS = 5
JUDGED_CALLS = 200
JUDGED_MS = 15 * 60_000

ERRORS_TO_OPEN = 5
ERROR_WINDOW_MS = 5 * 60_000
RESET_MS = 60_000


class CallOutcome(msgspec.Struct, frozen=True):
    """Records how one call ended: the instant of its end, whether the tool failed, and how long it took."""

    at_ms: int
    is_error: bool
    duration_ms: int = 0


class Limits(msgspec.Struct, frozen=True):
    """Sets the worst figures of a level: the fewest successes in a hundred calls, and the longest mean time."""

    health: Health
    least_percent: int
    most_mean_ms: int


LEVELS = (Limits("healthy", 95, 2_000), Limits("degraded", 80, 5_000))


def health_of(outcomes: Sequence[CallOutcome], now_ms: int) -> Health:
    """Return the health shown by the last 200 calls of the last 15 minutes; `unknown` with fewer than five.

    Old calls do not count, so that a tool which is avoided as unhealthy is tried again.
    """
    judged = [outcome for outcome in outcomes if now_ms - outcome.at_ms <= JUDGED_MS][-JUDGED_CALLS:]
    calls = len(judged)
    if calls < MIN_CALLS:
        return "unknown"
    successes = sum(not outcome.is_error for outcome in judged)
    took_ms = sum(outcome.duration_ms for outcome in judged)
    for level in LEVELS:
        if successes * 100 >= level.least_percent * calls and took_ms <= level.most_mean_ms * calls:
            return level.health
    return "unhealthy"


class ToolBreaker(msgspec.Struct, frozen=True):
    """Holds the state of one tool's breaker; `errors_ms` are the instants of its errors while it is closed.

    `probe` is the number of the probe in flight; `probe_at_ms` is when the next may be made, unless it is closed.
    """

    state: BreakerState = "closed"
    errors_ms: tuple[int, ...] = ()
    probe: int = 0
    probe_at_ms: int = 0


CLOSED = ToolBreaker()


def admit(breaker: ToolBreaker, call: int, now_ms: int) -> tuple[ToolBreaker, bool]:
    """Return the breaker after the call numbered `call` arrived, and whether that call may be made."""
    if breaker.state == "closed":
        return breaker, True
    if now_ms < breaker.probe_at_ms:
        return breaker, False
    return ToolBreaker("half_open", probe=call, probe_at_ms=now_ms + RESET_MS), True


def record(breaker: ToolBreaker, call: int, ending: Ending, now_ms: int) -> ToolBreaker:
    """Return the breaker after an admitted call ended. Calls admitted before it opened no longer count."""
    if breaker.state == "closed":
        return breaker if ending != "error" else _after_error(breaker, now_ms)
    if breaker.state == "open" or call != breaker.probe:
        return breaker
    if ending == "neither":
        return msgspec.structs.replace(breaker, probe=0, probe_at_ms=now_ms)
    return CLOSED if ending == "success" else ToolBreaker("open", probe_at_ms=now_ms + RESET_MS)


def _after_error(breaker: ToolBreaker, now_ms: int) -> ToolBreaker:
    errors_ms = (*breaker.errors_ms, now_ms)[-ERRORS_TO_OPEN:]
    if len(errors_ms) == ERRORS_TO_OPEN and now_ms - errors_ms[0] <= ERROR_WINDOW_MS:
        return ToolBreaker("open", probe_at_ms=now_ms + RESET_MS)
    return ToolBreaker("closed", errors_ms)


def breaker_after(outcomes: Iterable[CallOutcome]) -> ToolBreaker:
    """Return the breaker that these outcomes lead to, in order; each is taken for the probe if one was due."""
    breaker = CLOSED
    for number, outcome in enumerate(outcomes, 1):
        breaker, _ = admit(breaker, number, outcome.at_ms)
        breaker = record(breaker, number, "error" if outcome.is_error else "success", outcome.at_ms)
    return breaker


def state_at(breaker: ToolBreaker, now_ms: int) -> BreakerState:
    """Return the state at an instant: an open breaker whose probe is due is half open."""
    return "half_open" if breaker.state == "open" and now_ms >= breaker.probe_at_ms else breaker.state
