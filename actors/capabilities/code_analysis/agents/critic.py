"""Critic: which goals are met, and which way the run goes on. It never writes answer text.

`settle` closes the pass for every reasoner alike: goal updates, statuses, the summary, and the route, which the tables
of `next_step` give.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents import goal_changes
from actors.capabilities.code_analysis.agents.clarification import blocking_issues
from actors.capabilities.code_analysis.agents.intent import OPTIONAL_ASPECTS
from actors.capabilities.code_analysis.agents.routing_tables import (
    REDOING,
    REINTENT_FORM,
    REPLAN_FORM,
    NextStep,
    Standing,
    Verdict,
    ended_because,
    next_step,
)
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, GoalStatus, RoundSummary, apply_patch
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

MIN_HINT_CHARS = 10

# Both forms' words for the same verdicts; what is none of them is «next_stage».
_VERDICTS: dict[str, Verdict] = {"approved": "approved", "reintent": "again", "replan": "again"}
_SATISFIED_COVERAGE = 0.34


async def gather(context: StageContext, view: StageView) -> StageInput:
    """What the critic looks at: the claims for each goal and how well they cover the question."""
    return StageInput(
        {
            "question": view.outputs["intent"]["question"],
            "hints_for_goals": view.outputs["synthesis"]["hints_for_goals"],
            "coverage": view.outputs["synthesis"].get("coverage", 0.0),
            "contradictions": view.outputs["synthesis"].get("contradictions", []),
            "target_goals": view.outputs["planner"]["target_goals"],
            "remaining": msgspec.to_builtins(view.goals.remaining),
            "facts": view.outputs.get("execution", {}).get("facts", []),
            "may_ask": bool(view.metadata.get("may_ask")) and not is_clarified(view),
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """A goal is met when there are claims for it; without any, optional goals are reported and needed ones retried."""
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    claims: dict[str, list[Any]] = given.facts["hints_for_goals"]
    aimed_at = set(given.facts["target_goals"])
    status: dict[str, GoalStatus] = {
        goal.id: _status(goal, claims, given.facts["coverage"]) if goal.id in aimed_at else goal.status
        for goal in remaining
    }
    satisfied = [goal for goal, state in status.items() if state == "satisfied"]
    left = [goal for goal, state in status.items() if state not in {"satisfied", "blocked"}]
    return {
        "verdict": "approved" if not left else "next_stage",
        "confidence": round(float(given.facts["coverage"]), 2),
        "goal_status": status,
        "satisfied_goals": satisfied,
        "remaining_goals": left,
        "blocking_issues": _blocking(given.facts) if given.facts["may_ask"] else [],
        "goal_updates": {"new": [], "refined": {}, "dropped": [], "blocked": []},
        "intent_alignment_score": round(float(given.facts["coverage"]), 2),
        "refine_intent_hint": None,
        "add_goals_hint": [],
        "drop_goals_hint": [],
    }


def _blocking(given: Mapping[str, Any]) -> list[str]:
    question = msgspec.convert(given["question"], Question)
    return blocking_issues(question, msgspec.convert(given["facts"], list[Fact]), _texts(given["contradictions"]))


def _status(goal: Goal, claims: dict[str, list[Any]], coverage: float) -> GoalStatus:
    if claims.get(goal.id):
        return "satisfied" if coverage >= _SATISFIED_COVERAGE or aspect_of(goal) in OPTIONAL_ASPECTS else "partial"
    return "blocked" if aspect_of(goal) in OPTIONAL_ASPECTS else "pending"


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Close the pass: changes to the goals, its summary to the finished ones, and the route.

    Goals are added, refined and dropped when the round ends; a pass that is done again leaves that to intent.
    """
    has_hint = len(_hint_of(output).strip()) >= MIN_HINT_CHARS
    if output["verdict"] == "reintent" and not has_hint:
        log.info("critic.reintent_without_hint", extra={"run_id": context.key.run_id, "stage": "critic"})
    summary = _summary(view, output)
    at_round_end = goal_changes.from_critic(view.goals, output, summary)
    now = _standing(view, output, has_hint, apply_patch(view.goals, at_round_end), summary)
    step = next_step(_table(view), now)
    because = ended_because(step, now)
    issues = _texts(output.get("blocking_issues"))
    kept = msgspec.structs.replace(
        summary,
        synthesis={**summary.synthesis, "route": step.route, "because": step.because, "ended_because": because},
        is_redone=step.route in REDOING,
    )
    is_redone = step.route in REDOING
    patch = goal_changes.statuses_alone(at_round_end, kept) if is_redone else goal_changes.closing(at_round_end, kept)
    words = _generated(step, issues)
    if step.because == "stuck" or (step.because == "blocked" and not has_hint):
        output = {**output, "refine_intent_hint": words}
    return StageResult(
        {**output, "route": step.route, "because": step.because, "clarification_question": _question(step, issues)},
        goals=patch,
    )


def is_clarified(view: StageView) -> bool:
    """True when a person was asked in this query, or intent had cause to ask one and did not."""
    if view.outputs.get("intent", {}).get("clarified"):
        return True
    return any(done.synthesis.get("because") in {"blocked", "stuck"} for done in view.goals.finished_rounds)


def _standing(
    view: StageView, output: Mapping[str, Any], has_hint: bool, after: GoalBoard, summary: RoundSummary
) -> Standing:
    bounds = view.context_bounds
    is_replan = "max_loops_per_stage" in bounds
    nobody_to_ask = is_replan and not view.metadata.get("may_ask")
    return Standing(
        verdict=_VERDICTS.get(str(output["verdict"]), "next_round"),
        has_hint=has_hint,
        is_blocked=bool(_texts(output.get("blocking_issues"))) or output["verdict"] == "clarify",
        is_clarified=nobody_to_ask or is_clarified(view),
        goals_left=len(after.remaining),
        round_number=view.goals.round_number,
        max_rounds=bounds.get("max_stages", 5),
        again_made=_again_made(view.goals, is_replan),
        max_again=bounds["max_loops_per_stage"] if is_replan else bounds.get("max_reintents", 3),
        is_stuck=_is_stuck(view.goals, summary),
    )


def _table(view: StageView) -> Any:
    """The form of the pipeline: the older one bounds its loops by round, the newer one by query."""
    return REPLAN_FORM if "max_loops_per_stage" in view.context_bounds else REINTENT_FORM


def _again_made(board: GoalBoard, is_replan: bool) -> int:
    if is_replan:
        return sum(
            done.number == board.round_number and done.synthesis.get("route") == "replan"
            for done in board.finished_rounds
        )
    return sum(done.synthesis.get("route") == "reintent" for done in board.finished_rounds)


def _summary(view: StageView, output: Mapping[str, Any]) -> RoundSummary:
    synthesis, plan = view.outputs["synthesis"], view.outputs["planner"]
    satisfied = output["satisfied_goals"]
    return RoundSummary(
        number=view.goals.round_number,
        satisfied=tuple(GoalId(str(goal)) for goal in satisfied) if isinstance(satisfied, list) else (),
        evidence=int(synthesis.get("new_evidence", 0)),
        synthesis={
            "rules_took_over": output.get("rules_took_over", []),
            "hints_for_goals": synthesis["hints_for_goals"],
            "entities": synthesis.get("entities", []),
            "ranges": view.outputs["execution"].get("ranges", []),
            "commits": view.outputs["execution"].get("commits", []),
            "attempts": view.outputs["execution"].get("attempt_history", {}),
            "plan": {name: plan.get(name) for name in ("rationale", "feasibility_score", "tries", "risk_factors")},
            "steps": view.outputs["execution"].get("results", []),
            "files_read": view.outputs["execution"].get("files_read", []),
            "code_read": view.outputs["execution"].get("code_read", []),
            "context": view.outputs["execution"].get("context", {}),
            "shown": {"planner": plan.get("shown", {}), "synthesizer": synthesis.get("shown", {})},
        },
    )


def _is_stuck(board: GoalBoard, summary: RoundSummary) -> bool:
    """Two passes in a row without a newly satisfied goal or new evidence."""
    last_two = (*board.finished_rounds[-1:], summary)
    return len(last_two) == 2 and not any(done.satisfied or done.evidence for done in last_two)


def _generated(step: NextStep, issues: list[str]) -> str:
    """The hint that the rows «stuck» and «blocked» give to intent."""
    if step.because == "stuck":
        return "two passes brought nothing new: look for each word and for the parts of names"
    return f"something stands in the way: {'; '.join(issues)[:300] or 'the critic did not say what'}"


def _question(step: NextStep, issues: list[str]) -> str | None:
    """What a person is asked, when the route or intent puts it to them."""
    if step.because not in {"blocked", "stuck"}:
        return None
    said = plain("; ".join(issues)[:600])
    if said:
        return f"{said}. Which one do you mean?"
    return "I have looked twice and found nothing new. Which function, file, feature or behaviour do you mean?"


def _hint_of(output: Mapping[str, Any]) -> str:
    return str(output.get("refine_intent_hint") or output.get("replan_feedback") or "")


def _texts(value: object) -> list[str]:
    """The texts in what should be a list of texts."""
    return [item.strip() for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []
