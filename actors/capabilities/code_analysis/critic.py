"""Critic: which goals are met, and which way the run goes on. It never writes answer text.

`decide_route` is the table of what may follow: pure, and the only place where `route` is made.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from actors.capabilities.code_analysis.intent import OPTIONAL_ASPECTS, aspect_of
from runtime.capability import StageContext, StageInput, StageResult
from runtime.goals import Goal, GoalBoard, GoalsPatch, GoalStatus, RoundSummary
from runtime.ids import GoalId
from runtime.supervision.commands import StageView

log = logging.getLogger(__name__)

MIN_HINT_CHARS = 10


class Standing(msgspec.Struct, frozen=True):
    """What the route depends on: the verdict, goals left after this round, rounds and reintents so far, progress."""

    verdict: str
    has_hint: bool
    goals_left: int
    round_number: int
    max_rounds: int
    reintents: int
    max_reintents: int
    stuck: bool


def decide_route(standing: Standing) -> str:
    """reintent, next_round, complete or complete_limit: the first rule that holds."""
    if standing.verdict == "reintent" and standing.has_hint:
        return "reintent" if standing.reintents < standing.max_reintents else "complete_limit"
    if standing.goals_left == 0 or standing.verdict == "approved":
        return "complete"
    if standing.round_number >= standing.max_rounds or standing.stuck:
        return "complete_limit"
    return "next_round"


async def gather(context: StageContext, view: StageView) -> StageInput:
    """What the critic looks at: the claims for each goal and how well they cover the question."""
    return StageInput(
        {
            "hints_for_goals": view.outputs["synthesis"]["hints_for_goals"],
            "coverage": view.outputs["synthesis"].get("coverage", 0.0),
            "target_goals": view.outputs["planner"]["target_goals"],
            "remaining": msgspec.to_builtins(view.goals.remaining),
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """A goal is met when there are claims for it; without any, optional goals are reported and needed ones retried."""
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    claims: dict[str, list[Any]] = given.facts["hints_for_goals"]
    status = {goal.id: _status(goal, claims, given.facts["coverage"]) for goal in remaining}
    satisfied = [goal for goal, state in status.items() if state == "satisfied"]
    left = [goal for goal, state in status.items() if state not in {"satisfied", "blocked"}]
    return {
        "verdict": "approved" if not left else "next_stage",
        "confidence": round(float(given.facts["coverage"]), 2),
        "goal_status": status,
        "satisfied_goals": satisfied,
        "remaining_goals": left,
        "blocking_issues": [],
        "goal_updates": {"new": [], "refined": {}, "dropped": [], "blocked": []},
        "intent_alignment_score": round(float(given.facts["coverage"]), 2),
        "refine_intent_hint": None,
    }


def _status(goal: Goal, claims: dict[str, list[Any]], coverage: float) -> GoalStatus:
    if claims.get(goal.id):
        return "satisfied" if coverage >= 0.34 or aspect_of(goal) in OPTIONAL_ASPECTS else "partial"
    return "blocked" if aspect_of(goal) in OPTIONAL_ASPECTS else "pending"


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Close the round: statuses to the goals, the round's summary to the finished ones, and the route."""
    hint = str(output.get("refine_intent_hint") or "")
    has_hint = len(hint.strip()) >= MIN_HINT_CHARS
    if output["verdict"] == "reintent" and not has_hint:
        log.info("critic.reintent_without_hint", extra={"run_id": context.key.run_id, "stage": "critic"})
    statuses = {GoalId(goal): state for goal, state in output["goal_status"].items()}
    summary = _summary(view, output)
    after = _after(view.goals, statuses)
    standing = Standing(
        verdict=str(output["verdict"]),
        has_hint=has_hint,
        goals_left=len(after),
        round_number=view.goals.round_number,
        max_rounds=view.context_bounds.get("max_stages", 5),
        reintents=sum(1 for done in view.goals.finished_rounds if done.synthesis.get("route") == "reintent"),
        max_reintents=view.context_bounds.get("max_reintents", 3),
        stuck=_is_stuck(view.goals, summary),
    )
    route = decide_route(standing)
    summary = msgspec.structs.replace(summary, synthesis={**summary.synthesis, "route": route})
    return StageResult({**output, "route": route}, goals=GoalsPatch(statuses=statuses, finish_round=summary))


def _summary(view: StageView, output: dict[str, Any]) -> RoundSummary:
    synthesis = view.outputs["synthesis"]
    return RoundSummary(
        number=view.goals.round_number,
        satisfied=tuple(GoalId(goal) for goal in output["satisfied_goals"]),
        evidence=int(synthesis.get("new_evidence", 0)),
        synthesis={
            "hints_for_goals": synthesis["hints_for_goals"],
            "entities": synthesis.get("entities", []),
            "ranges": view.outputs["execution"].get("ranges", []),
            "attempts": view.outputs["execution"].get("attempt_history", {}),
        },
    )


def _after(board: GoalBoard, statuses: dict[GoalId, GoalStatus]) -> list[Goal]:
    return [goal for goal in board.remaining if statuses.get(goal.id, goal.status) in {"pending", "partial"}]


def _is_stuck(board: GoalBoard, summary: RoundSummary) -> bool:
    """Two rounds in a row without a newly satisfied goal or new evidence."""
    last_two = (*board.finished_rounds[-1:], summary)
    return len(last_two) == 2 and not any(done.satisfied or done.evidence for done in last_two)
