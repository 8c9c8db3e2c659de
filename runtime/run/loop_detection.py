"""Detects a run that repeats itself from its history, before it exhausts its bounds. Pure.

A first detector with one kind; `loop_detection` in a pipeline sets its threshold. History is read stage by stage, so
that parallel branches do not hide a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.run.envelope import HistoryRecord

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


class Detection(msgspec.Struct, frozen=True):
    """Describes a detected loop: its kind, the confidence (0 to 1), and the evidence."""

    kind: str
    confidence: float
    description: str


def digest_of(output: Mapping[str, Any]) -> str:
    """Return a digest of an output; it does not depend on the order of keys."""
    return hashlib.blake2b(_ENCODER.encode(output), digest_size=8).hexdigest()


def detect_loop(history: Sequence[HistoryRecord], stage: str, thresholds: Mapping[str, int]) -> Detection | None:
    """Return the loop that the last visit of `stage` closes, or None.

    `identical_action` N: N consecutive visits with the same output.
    """
    wanted = thresholds.get("identical_action")
    digests = [record.digest for record in reversed(history) if record.stage == stage and record.digest]
    if not wanted or not digests:
        return None
    repeats = next((number for number, digest in enumerate(digests) if digest != digests[0]), len(digests))
    if repeats < wanted:
        return None
    text = f"stage '{stage}' gave the same output {repeats} times in a row, limit {wanted}"
    return Detection("identical_action", 1.0, text)
