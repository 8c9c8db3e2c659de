"""Typed context: what one agent may see of a run, as conclusions and excerpts instead of the output of tools.

All of it is frozen, and validated when it is made. The order within a part says what matters most: the first.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Text = Annotated[str, Field(min_length=1)]


class FactCategory(StrEnum):
    """What sort of conclusion a fact is."""

    CODE_STRUCTURE = "code_structure"
    INFERENCE = "inference"
    PATTERN = "pattern"
    VERIFICATION = "verification"
    ERROR = "error"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Frozen):
    """One conclusion. `source` is "tool:rule"; `step` counts from 0; `supersedes` names the fact that it replaces."""

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
    """Lines of a file as they stand there; `fact` is the fact that they back."""

    place: Text
    text: str
    fact: str | None = None


class Understanding(_Frozen):
    """What is known so far: all facts in order, and which of them a later one has taken the place of."""

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
        """Ids of facts that a later one has taken the place of."""
        return frozenset(fact.supersedes for fact in self.facts if fact.supersedes is not None)

    @property
    def active(self) -> tuple[Fact, ...]:
        """The facts that still hold."""
        return tuple(fact for fact in self.facts if fact.id not in self.superseded)

    def of(self, category: FactCategory) -> tuple[Fact, ...]:
        """The active facts of a category."""
        return tuple(fact for fact in self.active if fact.category is category)

    def above(self, confidence: float) -> tuple[Fact, ...]:
        """The active facts of at least that confidence."""
        return tuple(fact for fact in self.active if fact.confidence >= confidence)


class AgentContext(_Frozen):
    """What one agent is shown: its task and goals, what is known, the lines behind it, and what went before."""

    agent: Text
    task: Text
    goals: tuple[Text, ...] = ()
    understanding: Understanding = Understanding()
    excerpts: tuple[Excerpt, ...] = ()
    recent: tuple[Text, ...] = ()
