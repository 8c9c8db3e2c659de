"""Defines the bounded answer schema of each agent's model.

Goals, tools and facts are chosen from lists (`x-choices`, fact numbers): a model refers to a fact by its number and to
lines within it, so that it can cite nothing that it was not shown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from actors.capabilities.code_analysis.question.analysis import Aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind
from runtime.llm.structured import chosen

MOST_FACTS = 200
MOST_CLAIMS = 16
MOST_FACTS_OF_CLAIM = 4
MOST_LINE = 10_000_000

# One to three sentences.
Statement = Annotated[str, Field(max_length=700)]
Phrase = Annotated[str, Field(max_length=240)]
GoalName = Annotated[str, Field(max_length=64, json_schema_extra=chosen("goals"))]
Line = Annotated[int, Field(ge=0, le=MOST_LINE)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WantedGoal(_Shape):
    """Describes one thing to find out."""

    aspect: Aspect
    text: Phrase


class IntentAnswer(_Shape):
    """Describes the user's intent and its goals."""

    intent: Phrase
    kind: QuestionKind
    goals: list[WantedGoal] = Field(min_length=1, max_length=5)
    names: list[Annotated[str, Field(max_length=80)]] = Field(max_length=6)


class PlannedStep(_Shape):
    """Describes one tool call: `target` is its main argument (a query, a symbol or a path)."""

    tool: Annotated[str, Field(max_length=40, json_schema_extra=chosen("tools"))]
    target: Annotated[str, Field(max_length=200)]
    goals: list[GoalName] = Field(max_length=5)
    why: Phrase


class PlanAnswer(_Shape):
    """Lists the tool calls of a plan."""

    steps: list[PlannedStep] = Field(min_length=1, max_length=8)
    feasibility: int = Field(ge=0, le=100)


class CitedFact(_Shape):
    """Names a fact and the lines of its code that carry a claim; both lines are 0 for a fact without code."""

    fact: int = Field(ge=1, le=MOST_FACTS)
    first_line: Line
    last_line: Line


class WrittenClaim(_Shape):
    """Pairs one to three sentences with the facts that support them."""

    goal: GoalName
    text: Statement
    facts: list[CitedFact] = Field(min_length=1, max_length=MOST_FACTS_OF_CLAIM)


class SynthesisAnswer(_Shape):
    """Holds the whole answer as claims in order, what contradicts itself, and questions that stay open."""

    claims: list[WrittenClaim] = Field(max_length=MOST_CLAIMS)
    contradictions: list[Phrase] = Field(max_length=4)
    open_questions: list[Phrase] = Field(max_length=6)


class JudgedClaim(_Shape):
    """Tells whether the cited lines of a claim, known by its number, bear it out."""

    claim: int = Field(ge=1, le=MOST_CLAIMS)
    verdict: Literal["supported", "unsupported", "misread"]
    why: Phrase


class JudgedGoal(_Shape):
    """Rates how far a goal is met."""

    goal: GoalName
    status: Literal["satisfied", "partial", "unmet", "blocked"]


class CriticAnswer(_Shape):
    """Judges each claim by its lines, and whether the claims together answer the question."""

    claims: list[JudgedClaim] = Field(max_length=MOST_CLAIMS)
    verdict: Literal["approved", "next_stage", "reintent"]
    goals: list[JudgedGoal] = Field(max_length=8)
    confidence: float = Field(ge=0, le=1)
    hint: Phrase
