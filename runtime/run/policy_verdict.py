"""Defines the verdict of a policy on a stage's result: approved, denied, or subject to confirmation."""

from __future__ import annotations

from typing import Literal

import msgspec


class PolicyVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a policy's decision on a stage's result, made before the result takes effect."""

    decision: Literal["approved", "denied", "requires_confirmation"]
    reason: str = ""
