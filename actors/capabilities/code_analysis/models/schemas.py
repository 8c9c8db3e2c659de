"""Defines the bounded answer schema of each agent's model.

Goals, tools and facts are chosen from lists (`x-choices`, fact numbers): a model refers to a fact by its number and to
lines within it, so that it can cite nothing that it was not shown. The schemas whose names end in `WithPlan` also ask
for the tool calls that come next, where both agents have the same model.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from actors.capabilities.code_analysis.question.aspects import Aspect
from runtime.llm.structured import chosen

MOST_FACTS = 200
MOST_CLAIMS = 16
MOST_FACTS_OF_CLAIM = 4
MOST_STEPS = 10
MOST_GOALS = 6
MOST_OPEN = 6
MOST_LINE = 10_000_000

# One to three sentences.
Statement = Annotated[str, Field(max_length=700)]
Phrase = Annotated[str, Field(max_length=240)]
GoalName = Annotated[str, Field(max_length=64, json_schema_extra=chosen("goals"))]
Line = Annotated[int, Field(ge=0, le=MOST_LINE)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StepOption(_Shape):
    """Sets a further argument of a tool."""

    name: Annotated[str, Field(max_length=40)]
    value: Annotated[str, Field(max_length=200)]


class PlannedStep(_Shape):
    """Describes one tool call: `target` is its main argument (a query, a symbol, a path, lines of a path)."""

    tool: Annotated[str, Field(max_length=40, json_schema_extra=chosen("tools"))]
    target: Annotated[str, Field(max_length=300)]
    options: list[StepOption] = Field(max_length=4)
    goals: list[GoalName] = Field(max_length=MOST_GOALS)
    why: Phrase


class PlanAnswer(_Shape):
    """Lists the tool calls of a plan."""

    steps: list[PlannedStep] = Field(min_length=1, max_length=MOST_STEPS)
    feasibility: int = Field(ge=0, le=100)


class WantedGoal(_Shape):
    """Describes one thing to find out; `after`: the numbers, from 1, of goals in the list that must be met first."""

    aspect: Aspect
    text: Phrase
    after: list[Annotated[int, Field(ge=1, le=MOST_GOALS)]] = Field(max_length=MOST_GOALS)


class IntentAnswer(_Shape):
    """Describes the user's intent, its goals, what it is limited to, and how else it may be read."""

    intent: Phrase
    kind: Annotated[str, Field(max_length=40, json_schema_extra=chosen("kinds"))]
    goals: list[WantedGoal] = Field(min_length=1, max_length=MOST_GOALS)
    names: list[Annotated[str, Field(max_length=80)]] = Field(max_length=6)
    constraints: list[Phrase] = Field(max_length=4)
    ambiguities: list[Phrase] = Field(max_length=4)
    confidence: Share


class IntentWithPlan(IntentAnswer):
    """Adds the first tool calls, which name their goals by aspect."""

    steps: list[PlannedStep] = Field(max_length=MOST_STEPS)
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
    open_questions: list[Phrase] = Field(max_length=MOST_OPEN)


class JudgedClaim(_Shape):
    """Tells whether the cited lines of a claim, known by its number, bear it out."""

    claim: int = Field(ge=1, le=MOST_CLAIMS)
    verdict: Literal["supported", "unsupported", "misread"]
    why: Phrase


class JudgedGoal(_Shape):
    """Rates how far a goal is met."""

    goal: GoalName
    status: Literal["satisfied", "partial", "unmet", "blocked"]


class NewGoal(_Shape):
    """Describes a goal that the question turns out to need."""

    aspect: Aspect
    text: Phrase


class RefinedGoal(_Shape):
    """Words a goal more exactly."""

    goal: GoalName
    text: Phrase


class CriticAnswer(_Shape):
    """Judges each claim by its lines, and whether the claims together answer the question.

    `answered_questions`: the numbers of the writer's open questions that the claims answer.
    """

    claims: list[JudgedClaim] = Field(max_length=MOST_CLAIMS)
    verdict: Literal["approved", "next_stage", "reintent"]
    goals: list[JudgedGoal] = Field(max_length=8)
    new_goals: list[NewGoal] = Field(max_length=3)
    refined_goals: list[RefinedGoal] = Field(max_length=4)
    dropped_goals: list[GoalName] = Field(max_length=4)
    blocking_issues: list[Phrase] = Field(max_length=3)
    confidence: Share
    alignment: Share
    hint: Phrase
    answered_questions: list[Annotated[int, Field(ge=1, le=MOST_OPEN)]] = Field(
        default_factory=list, max_length=MOST_OPEN
    )


class CriticWithPlan(CriticAnswer):
    """Adds the tool calls of the next round, if there is to be one."""

    steps: list[PlannedStep] = Field(max_length=MOST_STEPS)
