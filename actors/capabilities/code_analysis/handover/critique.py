"""What the critic hands on: which goals are met, which way the run goes on, and hints for those who go on."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional
from runtime.run.stage_view import StageView


class CritiqueOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of the critic. `because` is the row of its table that gave the route; both come when it settles.

    What it says of goals (`goal_status`, `goal_updates`, `add_goals_hint`, `drop_goals_hint`) is read goal by goal:
    what cannot be read changes nothing.
    """

    verdict: str
    route: str = ""
    because: str | None = None
    confidence: float = 0.0
    intent_alignment_score: float = 0.0
    goal_status: dict[str, Any] = {}
    goal_updates: dict[str, Any] = {}
    satisfied_goals: list[str] = []
    remaining_goals: list[str] = []
    blocking_issues: list[str] = []
    refine_intent_hint: str | None = None
    replan_feedback: str | msgspec.UnsetType | None = msgspec.UNSET
    add_goals_hint: list[Any] = []
    drop_goals_hint: list[Any] = []
    clarification_question: str | None = None
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


def critique_if_any(view: StageView) -> CritiqueOutput | None:
    """What the critic handed on, None before it has."""
    return optional(view, "critic", CritiqueOutput)
