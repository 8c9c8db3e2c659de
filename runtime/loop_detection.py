"""A run that repeats itself, noticed from its history before it burns its bounds. Pure.

A first detector with one kind; `loop_detection` in a pipeline sets its threshold. Runs are read stage by stage, so
that parallel branches do not hide a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.envelope import HistoryRecord

KINDS: frozenset[str] = frozenset({"identical_action"})

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


class Detection(msgspec.Struct, frozen=True):
    """A loop that was found: which kind, how sure (0 to 1), and what shows it."""

    kind: str
    confidence: float
    description: str


def digest_of(output: Mapping[str, Any]) -> str:
    """Names an output: equal outputs have equal digests, whatever the order of their keys."""
    return hashlib.blake2b(_ENCODER.encode(output), digest_size=8).hexdigest()


def detect_loop(history: Sequence[HistoryRecord], thresholds: Mapping[str, int]) -> Detection | None:
    """The loop that the last record closes, or None. `identical_action` N: N visits of a stage in a row, same output."""
    wanted = thresholds.get("identical_action")
    if not wanted or not history or not history[-1].digest:
        return None
    last = history[-1]
    visits = [r for r in history if r.stage == last.stage and r.digest and r.item == last.item]
    repeats = 0
    for record in reversed(visits):
        if record.digest != last.digest:
            break
        repeats += 1
    if repeats < wanted:
        return None
    text = f"stage '{last.stage}' gave the same output {repeats} times in a row, limit {wanted}"
    return Detection("identical_action", 1.0, text)
