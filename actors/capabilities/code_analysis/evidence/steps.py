"""Defines the steps that a plan is made of."""

from __future__ import annotations

from typing import Any

import msgspec

# What passes its work on is followed where the question asks what is done; the calls of a case are traced anyhow.
PASSED_ON_KINDS = frozenset({"how", "what"})

# The steps that read what the best place passes its work on to, and follow its calls.
PASSED_ON_CODE, PASSED_ON_CALLS = "inner", "inner_calls"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call, or, with `top_of`, one for each of the best `count` places that those earlier steps found.

    `fill`: parameter → what it takes of each place (`file`, `start_line`, `end_line` or `name`). `named_only`: where
    the question names something, places of that name alone. `passed_on`: the one thing that the best place passes its
    work on to, or nothing.
    """

    id: str
    tool: str
    arguments: dict[str, Any]
    goals: tuple[str, ...]
    why: str
    top_of: tuple[str, ...] = ()
    count: int = 1
    fill: dict[str, str] = {}
    named_only: bool = False
    passed_on: bool = False
