"""Defines an agent's actions: those to choose from, the chosen one, and the record of each one taken."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from runtime.context.fields import (
    MAX_ITEMS,
    MAX_NAME_CHARS,
    Frozen,
    Hints,
    Lines,
    Name,
    Names,
    NonNegative,
    Parameters,
    Statement,
    Text,
)


class ActionResult(StrEnum):
    """Classifies the outcome of an action; `fatal` ends the task."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    SKIPPED = "skipped"
    FATAL = "fatal"


class ActionDef(Frozen):
    """Describes an action: parameters by name and type, when to use it, its effects, and phases; () are all phases."""

    name: Name
    description: Statement
    parameters: Hints = Field(default_factory=dict)
    preconditions: Lines = ()
    postconditions: Lines = ()
    phases: Names = ()
    value_hints: Hints = Field(default_factory=dict)
    priority: int = 0


class ActionRecord(Frozen):
    """Records an action that was taken or skipped; `facts_produced` are ids of facts."""

    step: NonNegative
    action: Name
    target: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    parameters: Parameters = Field(default_factory=dict)
    result: ActionResult
    summary: Text
    facts_produced: Names = ()
    duration_ms: NonNegative | None = None
    error: Text | None = None


class BlockedAction(Frozen):
    """Names an action that is not allowed now, and the reason."""

    action: Name
    reason: Statement


class ActionsSpec(Frozen):
    """Holds the actions to choose from; the recommended one is available and not blocked."""

    available: tuple[ActionDef, ...] = Field(default=(), max_length=MAX_ITEMS)
    recommended: Name | None = None
    blocked: tuple[BlockedAction, ...] = Field(default=(), max_length=MAX_ITEMS)

    @model_validator(mode="after")
    def _recommends_what_is_allowed(self) -> Self:
        names = [action.name for action in self.available]
        if len(names) > len(set(names)):
            raise ValueError(f"actions must have names of their own, not {', '.join(names)}")
        if self.recommended is not None and self.recommended not in self.allowed:
            raise ValueError(f"recommended {self.recommended!r} is not among the allowed actions {self.allowed}")
        return self

    @property
    def allowed(self) -> tuple[str, ...]:
        """Names of the available actions that are not blocked."""
        blocked = {each.action for each in self.blocked}
        return tuple(action.name for action in self.available if action.name not in blocked)


class AgentResponse(Frozen):
    """Holds the one action that a policy chose."""

    action: Name
    parameters: Parameters = Field(default_factory=dict)
    reasoning: Text | None = None
