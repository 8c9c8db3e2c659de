"""Defines typed context: an agent's view of a run, as conclusions and excerpts instead of tool output.

All of it is frozen, and validated when it is made. Items of a part are ordered by importance, the first matters most.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Text = Annotated[str, Field(min_length=1)]


class FactCategory(StrEnum):
    """Classifies facts by the kind of conclusion."""

    CODE_STRUCTURE = "code_structure"
    INFERENCE = "inference"
    PATTERN = "pattern"
    VERIFICATION = "verification"
    ERROR = "error"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Frozen):
    """States one conclusion.

    `source` is "tool:rule"; `step` counts from 0; `supersedes` names the fact that it replaces.
    """

    id: Text
    category: FactCategory
    statement: Text
    confidence: float = Field(ge=0, le=1)
    source: Text
    step: int = Field(default=0, ge=0)
    supersedes: str | None = None

    @field_validator("confidence")
    @classmethod
    def _rounded(cls, value: float) -> float:
        return round(value, 2)


class Excerpt(_Frozen):
    """Quotes lines of a file verbatim; `fact` is the fact that they support."""

    place: Text
    text: str
    fact: str | None = None


class Understanding(_Frozen):
    """Holds all facts in order, and knows which of them were superseded."""

    facts: tuple[Fact, ...] = ()

    @model_validator(mode="after")
    def _named_once(self) -> Understanding:
        names = [fact.id for fact in self.facts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"facts must have ids of their own; {', '.join(twice)} occur twice")
        return self

    @property
    def superseded(self) -> frozenset[str]:
        """Ids of facts that a later one supersedes."""
        return frozenset(fact.supersedes for fact in self.facts if fact.supersedes is not None)

    @property
    def active(self) -> tuple[Fact, ...]:
        """The facts that still hold."""
        return tuple(fact for fact in self.facts if fact.id not in self.superseded)

    def of(self, category: FactCategory) -> tuple[Fact, ...]:
        """Return the active facts of a category."""
        return tuple(fact for fact in self.active if fact.category is category)

    def above(self, confidence: float) -> tuple[Fact, ...]:
        """Return the active facts of at least that confidence."""
        return tuple(fact for fact in self.active if fact.confidence >= confidence)


class AgentContext(_Frozen):
    """Holds an agent's context: task and goals, facts, the excerpts that support them, and recent history."""

    agent: Text
    task: Text
    goals: tuple[Text, ...] = ()
    understanding: Understanding = Understanding()
    excerpts: tuple[Excerpt, ...] = ()
    recent: tuple[Text, ...] = ()
