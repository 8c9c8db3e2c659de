"""Chooses the next stage: rules in order, first match wins, then `default_next`, then the end.

Values are compared as JSON is: 1 equals 1.0, true does not equal 1, lists and maps compare by content, and a key that
is missing matches nothing, not even null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.pipeline.config import END, AgentConfig

_MISSING = object()


class Move(msgspec.Struct, frozen=True):
    """Names the target of a route, the output keys to drop on the way, and the rule that matched (None: default)."""

    target: str
    clear: tuple[str, ...] = ()
    rule: int | None = None


def next_move(agent: AgentConfig, output: Mapping[str, Any]) -> Move:
    """Return the move after `agent` succeeded with `output`; pure and total."""
    for number, rule in enumerate(agent.routing_rules):
        if same_value(output.get(rule.condition, _MISSING), rule.value):
            return Move(rule.target, rule.clear, number)
    return Move(agent.default_next or END)


def same_value(left: object, right: object) -> bool:
    """Return True when both are the same JSON value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right
