"""Defines the output of the critic: goals met, the route, and hints for later agents."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional
from runtime.run.stage_view import StageView


class StruckClaim(msgspec.Struct, frozen=True):
    """Records a claim that the judge struck: its text, the marks of the lines it cited, the verdict, and why."""

    text: str
    cited: list[str]
    verdict: str
    why: str = ""


class CritiqueOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of the critic.

    `because` names the table row that gave the route; both are set when the critic settles. `goal_status`,
    `goal_updates`, `add_goals_hint` and `drop_goals_hint` are read goal by goal: an unreadable entry changes nothing.
    `judged_hints`: the claims by goal that are left after a judge has seen the lines of each; `struck`: the others.
    `closed_questions`: the writer's open questions that the claims left answer.
    `next_steps`: the tool calls that its model planned for the next pass, in its words.
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
    judged_hints: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    struck: list[StruckClaim] | msgspec.UnsetType = msgspec.UNSET
    closed_questions: list[str] | msgspec.UnsetType = msgspec.UNSET
    next_steps: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


def critique_if_any(view: StageView) -> CritiqueOutput | None:
    """Return the output of the critic; None before there is one."""
    return optional(view, "critic", CritiqueOutput)
