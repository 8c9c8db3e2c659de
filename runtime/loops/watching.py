"""Defines a watcher, which follows a series of steps for one kind of loop, at constant cost per step.

A watcher is asked about every step, and answers if this very step closes a loop of its kind.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from runtime.loops.progress import JudgedStep
from runtime.loops.records import LoopKind

MAX_EVIDENCE = 8


class Found(msgspec.Struct, frozen=True):
    """Holds what a watcher found; `detector` adds suggestions."""

    kind: LoopKind
    confidence: float
    description: str
    evidence: tuple[str, ...]
    count: int


class Watcher(Protocol):
    """Follows a series of steps; `see` returns what the step closes, or None."""

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
