"""Defines facts, the conclusions drawn from tool output, and the understanding that they add up to."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator, model_validator

from runtime.context.fields import MAX_NAME_CHARS, Frozen, Name, NonNegative, Statement

MAX_FACTS = 5_000
SURE_CONFIDENCE = 0.8


class FactCategory(StrEnum):
    """Classifies facts by the kind of conclusion."""

    CODE_STRUCTURE = "code_structure"
    INFERENCE = "inference"
    PATTERN = "pattern"
    VERIFICATION = "verification"
    ERROR = "error"


class Fact(Frozen):
    """States one conclusion.

    `source` is "tool:rule"; `step` counts from 0; `supersedes` names the fact that it replaces. A newer verification
    fact replaces older ones of the same kind and subject (`complexity` of one function), or of the same kind and
    scope (all that an earlier run of the same tests said); "" stands for none.
    """

    id: Name
    category: FactCategory
    statement: Statement
    confidence: float = Field(ge=0, le=1)
    source: Name
    step: NonNegative = 0
    supersedes: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    kind: str = Field(default="", max_length=MAX_NAME_CHARS)
    subject: str = Field(default="", max_length=MAX_NAME_CHARS)
    scope: str = Field(default="", max_length=MAX_NAME_CHARS)

    @field_validator("confidence")
    @classmethod
    def _rounded(cls, value: float) -> float:
        return round(value, 2)


class Understanding(Frozen):
    """Holds all facts in order, and the ids of those that no longer hold or were compacted away."""

    facts: tuple[Fact, ...] = Field(default=(), max_length=MAX_FACTS)
    superseded_ids: tuple[Name, ...] = Field(default=(), max_length=MAX_FACTS)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        twice = sorted(name for name, times in Counter(fact.id for fact in self.facts).items() if times > 1)
        if twice:
            raise ValueError(f"facts must have ids of their own; {', '.join(twice)} occur twice")
        return self

    @property
    def superseded(self) -> frozenset[str]:
        """Ids of facts that were superseded: those listed, and those that a fact names."""
        return frozenset(self.superseded_ids) | {fact.supersedes for fact in self.facts if fact.supersedes is not None}

    @property
    def active(self) -> tuple[Fact, ...]:
        """The facts that still hold."""
        superseded = self.superseded
        return tuple(fact for fact in self.facts if fact.id not in superseded)

    def of(self, category: FactCategory) -> tuple[Fact, ...]:
        """Return the active facts of a category."""
        return tuple(fact for fact in self.active if fact.category is category)

    def above(self, confidence: float = SURE_CONFIDENCE) -> tuple[Fact, ...]:
        """Return the active facts of at least that confidence."""
        return tuple(fact for fact in self.active if fact.confidence >= confidence)
