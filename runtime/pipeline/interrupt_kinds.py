"""Lists the kinds of interrupt and how long each stays open."""

from __future__ import annotations

from typing import Literal

_HOUR_MS = 3_600_000

InterruptKind = Literal[
    "clarification",
    "confirmation",
    "agent_review",
    "checkpoint",
    "resource_exhausted",
    "timeout",
    "system_error",
]

TIME_TO_LIVE_MS: dict[InterruptKind, int | None] = {
    "clarification": 24 * _HOUR_MS,
    "confirmation": _HOUR_MS,
    "agent_review": 30 * 60_000,
    "checkpoint": None,
    "resource_exhausted": 5 * 60_000,
    "timeout": 5 * 60_000,
    "system_error": _HOUR_MS,
}
