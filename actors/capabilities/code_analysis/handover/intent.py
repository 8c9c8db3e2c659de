"""Defines the output of intent: the analysed question and its goals in order."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional, required
from actors.capabilities.code_analysis.question.analysis import Question
from runtime.run.stage_view import StageView


class WantedGoal(msgspec.Struct, frozen=True):
    """Represents a goal as intent writes it; lower priorities come first."""

    id: str
    text: str
    priority: int = 0


class HandedPlan(msgspec.Struct, frozen=True):
    """Holds tool calls that another agent's model planned: `steps` in its words, for the pass after `passes_before`."""

    steps: list[dict[str, Any]]
    feasibility: int
    passes_before: int


class IntentOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of intent. `asked` is the question together with the user's clarification.

    `add_goals` and `drop_goals` are those of the critic's proposals that intent accepts. `add_goals` holds texts, or
    goals as mappings, and is read goal by goal. `plan`: the tool calls that its model planned along with the goals.
    """

    intent: str
    question: Question
    asked: str = ""
    goals: list[WantedGoal] = []
    constraints: list[str] = []
    ambiguities: list[str] = []
    goal_dependencies: dict[str, list[str]] = {}
    goal_priorities: dict[str, int] = {}
    confidence: float = 0.0
    clarification_needed: bool = False
    clarification_question: str | None = None
    clarified: bool = False
    hint_used: str | None = None
    is_wider: bool = False
    add_goals: list[Any] = []
    drop_goals: list[str] = []
    plan: HandedPlan | msgspec.UnsetType = msgspec.UNSET
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


def intent_of(view: StageView) -> IntentOutput:
    """Return the output of intent; raise HandoverError when it is missing."""
    return required(view, "intent", IntentOutput)


def intent_if_any(view: StageView) -> IntentOutput | None:
    """Return the output of intent; None before there is one."""
    return optional(view, "intent", IntentOutput)
