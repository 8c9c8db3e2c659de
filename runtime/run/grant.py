"""Defines what a stage may spend; light to import for those who only read commands and events."""

from __future__ import annotations

import msgspec


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits what a stage may spend, reserved before the stage starts. `tokens` None: no limit."""

    llm_calls: int = 0
    tool_calls: int = 0
    tokens: int | None = None
