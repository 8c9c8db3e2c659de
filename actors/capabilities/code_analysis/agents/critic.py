"""Judges which goals are met and chooses the route. It never writes answer text.

`settle` closes the pass in the same way for every reasoner: goal updates, statuses, the summary, and the route from the
tables of `next_step`.
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
from actors.capabilities.code_analysis.answers.confidence import ENOUGH, bounds_of_presence, presence_by
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import call_text
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput, execution_if_any, execution_of
from actors.capabilities.code_analysis.handover.explained import ExplainedSteps, ExplainedTrust
from actors.capabilities.code_analysis.handover.intent import intent_if_any, intent_of
from actors.capabilities.code_analysis.handover.passes import (
    ModelDraft,
    PassRecord,
    PlanNote,
    pass_record,
    passes_of,
)
from actors.capabilities.code_analysis.handover.plan import PlanOutput, plan_of
from actors.capabilities.code_analysis.handover.reading import read, written
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput, synthesis_of
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalBoard, GoalStatus, RoundSummary, apply_patch
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

MIN_HINT_CHARS = 10

# Verdicts by the words of both pipeline forms; any other word means «next_round».
_VERDICTS: dict[str, Verdict] = {"approved": "approved", "reintent": "again", "replan": "again"}
_SATISFIED_COVERAGE = 0.34


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect the critic's input: the claims for each goal and their coverage of the question."""
    synthesis, execution = synthesis_of(view), execution_if_any(view)
    return StageInput(
        {
            "question": intent_of(view).question,
            "hints_for_goals": synthesis.hints_for_goals,
            "coverage": synthesis.coverage,
            "presence": synthesis.confidence if synthesis.presence is None else synthesis.presence,
            "contradictions": synthesis.contradictions,
            "target_goals": plan_of(view).target_goals,
            "remaining": view.goals.remaining,
            "facts": [] if execution is None else execution.facts,
            "may_ask": bool(view.metadata.get("may_ask")) and not is_clarified(view),
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Rate the goals that the plan aimed at by their claims and the coverage of the question.

    With claims a goal is satisfied, or partial at low coverage; without, an optional goal is blocked and another
    pending. An answer in words about what is probably not there is blocked: another round would find the same.
    """
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    claims: dict[str, list[Any]] = given.facts["hints_for_goals"]
    aimed_at = set(given.facts["target_goals"])
    status: dict[str, GoalStatus] = {
        goal.id: _status(goal, claims, given.facts["coverage"], given.facts["presence"])
        if goal.id in aimed_at
        else goal.status
        for goal in remaining
    }
    satisfied = [goal for goal, state in status.items() if state == "satisfied"]
    left = [goal for goal, state in status.items() if state not in {"satisfied", "blocked"}]
    judged = CritiqueOutput(
        verdict="approved" if not left else "next_stage",
        confidence=round(float(given.facts["coverage"]), 2),
        goal_status=dict(status),
        satisfied_goals=[str(goal) for goal in satisfied],
        remaining_goals=[str(goal) for goal in left],
        blocking_issues=_blocking(given.facts) if given.facts["may_ask"] else [],
        goal_updates={"new": [], "refined": {}, "dropped": [], "blocked": []},
        intent_alignment_score=round(float(given.facts["coverage"]), 2),
    )
    return written(judged)


def _blocking(given: Mapping[str, Any]) -> list[str]:
    question = msgspec.convert(given["question"], Question)
    return blocking_issues(question, msgspec.convert(given["facts"], list[CodeFact]), _texts(given["contradictions"]))


def _status(goal: Goal, claims: dict[str, list[Any]], coverage: float, presence: float | None) -> GoalStatus:
    if claims.get(goal.id):
        if aspect_of(goal) == "answer" and presence is not None:
            return "satisfied" if presence >= ENOUGH else "blocked"
        return "satisfied" if coverage >= _SATISFIED_COVERAGE or aspect_of(goal) in OPTIONAL_ASPECTS else "partial"
    return "blocked" if aspect_of(goal) in OPTIONAL_ASPECTS else "pending"


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Close the pass: update the goals, record its summary, and choose the route.

    Goals are added, refined and dropped at the end of a round; a pass that is redone leaves that to intent.
    """
    judged = _judged(output)
    has_hint = len(_hint_of(judged).strip()) >= MIN_HINT_CHARS
    if judged.verdict == "reintent" and not has_hint:
        log.info("critic.reintent_without_hint", extra={"run_id": context.key.run_id, "stage": "critic"})
    record = _record(view, judged)
    summary = RoundSummary(
        number=view.goals.round_number,
        satisfied=tuple(GoalId(goal) for goal in judged.satisfied_goals),
        evidence=synthesis_of(view).new_evidence,
    )
    at_round_end = goal_changes.from_critic(view.goals, output, summary)
    now = _standing(view, judged, has_hint, apply_patch(view.goals, at_round_end), summary)
    step = next_step(_table(view), now)
    ended = msgspec.structs.replace(
        record, route=step.route, because=step.because, ended_because=ended_because(step, now)
    )
    is_redone = step.route in REDOING
    kept = msgspec.structs.replace(summary, synthesis=msgspec.to_builtins(ended), is_redone=is_redone)
    patch = goal_changes.statuses_alone(at_round_end, kept) if is_redone else goal_changes.closing(at_round_end, kept)
    issues = judged.blocking_issues
    is_generated = step.because == "stuck" or (step.because == "blocked" and not has_hint)
    settled = msgspec.structs.replace(
        judged,
        route=step.route,
        because=step.because,
        refine_intent_hint=_generated(step, issues) if is_generated else judged.refine_intent_hint,
        clarification_question=_question(step, issues),
    )
    return StageResult(written(settled), goals=patch)


def _judged(output: Mapping[str, Any]) -> CritiqueOutput:
    """Read a reasoner's output as the critic's. The goal fields are total: unreadable entries are dropped."""
    satisfied, remaining = output.get("satisfied_goals"), output.get("remaining_goals")
    hint, updates, status = (output.get(name) for name in ("refine_intent_hint", "goal_updates", "goal_status"))
    total = {
        "verdict": str(output.get("verdict", "")),
        "goal_status": dict(status) if isinstance(status, Mapping) else {},
        "goal_updates": dict(updates) if isinstance(updates, Mapping) else {},
        "satisfied_goals": [str(goal) for goal in satisfied] if isinstance(satisfied, list) else [],
        "remaining_goals": [str(goal) for goal in remaining] if isinstance(remaining, list) else [],
        "blocking_issues": _texts(output.get("blocking_issues")),
        "refine_intent_hint": None if hint is None else str(hint),
    }
    return read("critic", {**output, **total}, CritiqueOutput)


def is_clarified(view: StageView) -> bool:
    """Return whether the user was asked in this query, or intent had cause to ask and did not."""
    intent = intent_if_any(view)
    if intent is not None and intent.clarified:
        return True
    return any(done.because in {"blocked", "stuck"} for done in passes_of(view))


def _standing(
    view: StageView, judged: CritiqueOutput, has_hint: bool, after: GoalBoard, summary: RoundSummary
) -> Standing:
    bounds = view.context_bounds
    is_replan = "max_loops_per_stage" in bounds
    nobody_to_ask = is_replan and not view.metadata.get("may_ask")
    return Standing(
        verdict=_VERDICTS.get(judged.verdict, "next_round"),
        has_hint=has_hint,
        is_blocked=bool(judged.blocking_issues) or judged.verdict == "clarify",
        is_clarified=nobody_to_ask or is_clarified(view),
        goals_left=len(after.remaining),
        round_number=view.goals.round_number,
        max_rounds=bounds.get("max_stages", 5),
        again_made=_again_made(view.goals, is_replan),
        max_again=bounds["max_loops_per_stage"] if is_replan else bounds.get("max_reintents", 3),
        is_stuck=_is_stuck(view.goals, summary),
    )


def _table(view: StageView) -> Any:
    """Return the table for the pipeline: `max_loops_per_stage` bounds loops per round, `max_reintents` per query."""
    return REPLAN_FORM if "max_loops_per_stage" in view.context_bounds else REINTENT_FORM


def _again_made(board: GoalBoard, is_replan: bool) -> int:
    passes = [(done.number, pass_record(done).route) for done in board.finished_rounds]
    if is_replan:
        return passes.count((board.round_number, "replan"))
    return sum(route == "reintent" for _, route in passes)


def _record(view: StageView, judged: CritiqueOutput) -> PassRecord:
    """Build the record of the pass for later passes and for the answer, except for the route."""
    synthesis, plan, execution = synthesis_of(view), plan_of(view), execution_of(view)
    return PassRecord(
        rules_took_over=judged.rules_took_over or [],
        hints_for_goals=judged.judged_hints or synthesis.hints_for_goals,
        entities=synthesis.entities,
        ranges=execution.ranges,
        commits=execution.commits,
        attempts=execution.attempt_history,
        plan=PlanNote(plan.rationale, plan.feasibility_score, plan.tries, plan.risk_factors),
        steps=execution.results,
        files_read=execution.files_read,
        code_read=execution.code_read,
        context=execution.context,
        confidence=synthesis.confidence,
        presence=synthesis.presence,
        confidence_features=synthesis.confidence_features,
        parts=synthesis.parts,
        shown={"planner": plan.shown or {}, "synthesizer": synthesis.shown or {}},
        struck=judged.struck,
        next_steps=judged.next_steps,
        explained=_explained(execution, synthesis),
        draft=_draft(synthesis, judged, plan) if synthesis.is_by_model else msgspec.UNSET,
    )


def _explained(execution: ExecutionOutput, synthesis: SynthesisOutput) -> ExplainedSteps | msgspec.UnsetType:
    """Return what is recorded for an explanation, with what the answer is trusted by; unset if none was asked for."""
    explained, features = execution.explained, synthesis.confidence_features
    if explained is msgspec.UNSET or not features or synthesis.presence is None:
        return explained
    trust = ExplainedTrust(
        presence=synthesis.presence,
        enough=ENOUGH,
        confidence=synthesis.confidence or 0.0,
        by={name: (round(value, 3), round(added, 3)) for name, (value, added) in presence_by(features).items()},
        bounds=bounds_of_presence(features),
    )
    return msgspec.structs.replace(explained, trust=trust)


def _draft(synthesis: SynthesisOutput, judged: CritiqueOutput, plan: PlanOutput) -> ModelDraft:
    return ModelDraft(
        dropped=synthesis.claims_dropped or {},
        open_questions=[
            question for question in synthesis.open_questions if question not in (judged.closed_questions or ())
        ],
        contradictions=synthesis.contradictions,
        seen=synthesis.seen or [],
        asked=[call_text(step) for step in plan.steps if not step.top_of],
        hint=_hint_of(judged),
        confidence=None if judged.judged_hints is msgspec.UNSET else judged.confidence,
    )


def _is_stuck(board: GoalBoard, summary: RoundSummary) -> bool:
    """Return whether two passes in a row brought no newly satisfied goal and no new evidence."""
    last_two = (*board.finished_rounds[-1:], summary)
    return len(last_two) == 2 and not any(done.satisfied or done.evidence for done in last_two)


def _generated(step: NextStep, issues: list[str]) -> str:
    """Build the hint that the rows «stuck» and «blocked» give to intent."""
    if step.because == "stuck":
        return "two passes brought nothing new: look for each word and for the parts of names"
    return f"something stands in the way: {'; '.join(issues)[:300] or 'the critic did not say what'}"


def _question(step: NextStep, issues: list[str]) -> str | None:
    """Build the question for the user, asked when the route or intent requires it."""
    if step.because not in {"blocked", "stuck"}:
        return None
    said = plain("; ".join(issues)[:600])
    if said:
        return f"{said}. Which one do you mean?"
    return "I have looked twice and found nothing new. Which function, file, feature or behaviour do you mean?"


def _hint_of(judged: CritiqueOutput) -> str:
    return judged.refine_intent_hint or judged.replan_feedback or ""


def _texts(value: object) -> list[str]:
    """Return the non-empty texts of a value that should be a list of texts."""
    return [item.strip() for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []
