"""Defines the bounded answer schema of each agent's model.

Goals, tools and facts are chosen from lists (`x-choices`, fact numbers): a model refers to a fact by its number and
never to a file or line, so it cannot invent one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from actors.capabilities.code_analysis.question.analysis import Aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind
from runtime.llm.structured import chosen

MOST_FACTS = 200

Sentence = Annotated[str, Field(max_length=300)]
Phrase = Annotated[str, Field(max_length=160)]
GoalName = Annotated[str, Field(max_length=64, json_schema_extra=chosen("goals"))]


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


class WrittenClaim(_Shape):
    """Pairs a sentence with the number of the fact that supports it."""

    goal: GoalName
    fact: int = Field(ge=1, le=MOST_FACTS)
    text: Sentence


class SynthesisAnswer(_Shape):
    """Lists the claims drawn from the facts, and questions that stay open."""

    claims: list[WrittenClaim] = Field(max_length=12)
    open_questions: list[Phrase] = Field(max_length=4)


class JudgedGoal(_Shape):
    """Rates how far a goal is met."""

    goal: GoalName
    status: Literal["satisfied", "partial", "unmet", "blocked"]


class CriticAnswer(_Shape):
    """Judges whether the claims answer the question."""

    verdict: Literal["approved", "next_stage", "reintent"]
    goals: list[JudgedGoal] = Field(max_length=8)
    confidence: float = Field(ge=0, le=1)
    hint: Phrase
