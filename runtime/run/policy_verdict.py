"""Judges a stage's result before it takes effect: approved, denied, or to be confirmed by a person."""

from __future__ import annotations

from typing import Literal

import msgspec


class PolicyVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a policy says of a stage's result before it takes effect."""

    decision: Literal["approved", "denied", "requires_confirmation"]
    reason: str = ""
