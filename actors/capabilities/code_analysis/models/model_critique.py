"""Judges claims and goals by a model, whose approval of a result without claims does not count.

The model sees each claim with the lines that it cites, and may strike it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents import critic
from actors.capabilities.code_analysis.evidence.steps import call_text
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.passes import ModelDraft, PassRecord, passes_of
from actors.capabilities.code_analysis.handover.perception import perception_if_any
from actors.capabilities.code_analysis.handover.plan import plan_of
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import synthesis_of
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.claim_judging import Presented, judged_hints, presented
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.model_intent import PLANNER_ROLE
from actors.capabilities.code_analysis.models.planning_context import (
    fitted,
    reading_of_question,
    repository_lines,
    seen_not_read,
)
from actors.capabilities.code_analysis.models.prompt_layout import NEXT_PLAN_FORM, NOTHING, render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import CriticAnswer, CriticWithPlan
from actors.capabilities.code_analysis.models.step_arguments import PLANNED_TOOLS
from runtime.agents.capability import StageContext, StageInput
from runtime.run.goals import Goal, GoalStatus
from runtime.run.stage_view import StageView

MAX_GOAL_CHARS = 240
NOTES_SHARE = 0.3

_STATUS: dict[str, GoalStatus] = {
    "satisfied": "satisfied",
    "partial": "partial",
    "unmet": "pending",
    "blocked": "blocked",
}


async def critique_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for a verdict on each claim and on the whole, within limits that it cannot override.

    A goal without a claim is never satisfied, and the model's approval of a result without claims does not count.
    """
    base = read("critic", await critic.by_rules(context, view, given), CritiqueOutput)
    understood = intent_if_any(view)
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    hints: dict[str, list[dict[str, Any]]] = given.facts["hints_for_goals"]
    model = model_of(context)
    claims = await _presented(context, view, hints)
    plans = model.shares_model_with(PLANNER_ROLE)
    notes = [*_notes(view), *(await _for_plan(context, view) if plans else [])]
    room = agent_context.Room(model.room_tokens, model.counter.count)
    lines = [claim.text for claim in claims]
    seen = agent_context.of_lines("critic", view.raw_input, [goal.text for goal in remaining], lines, room)
    layout = render_prompt(
        context,
        "critic",
        view.raw_input if understood is None else understood.question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {one_line(goal.text, MAX_GOAL_CHARS)}" for goal in remaining) or "(none)",
        notes=fitted(context, notes, NOTES_SHARE) or NOTHING,
        plan=NEXT_PLAN_FORM if plans else "",
    )
    choices = {"goals": [str(goal.id) for goal in remaining], "tools": sorted(PLANNED_TOOLS)}
    answered = await model.generate_object(layout.messages, CriticWithPlan if plans else CriticAnswer, choices)
    answer = answered.object
    left_of, struck = judged_hints(hints, claims[: layout.line_count], answer.claims)
    # A goal that it does not judge stays as it is, unless it approves the whole.
    untold: GoalStatus | None = "satisfied" if answer.verdict == "approved" else None
    status: dict[str, GoalStatus] = {str(goal.id): untold or goal.status for goal in remaining}
    for judged in answer.goals:
        if judged.goal in status:
            status[judged.goal] = _STATUS[judged.status]
    for goal, state in status.items():
        if state == "satisfied" and not left_of.get(goal):
            status[goal] = "pending"
    left = [goal for goal, state in status.items() if state not in {"satisfied", "blocked"}]
    verdict = answer.verdict if any(left_of.values()) or answer.verdict != "approved" else "next_stage"
    output = msgspec.structs.replace(
        base,
        verdict="approved" if not left and verdict == "next_stage" else verdict,
        confidence=round(answer.confidence, 2),
        goal_status=status,
        satisfied_goals=[goal for goal, state in status.items() if state == "satisfied"],
        remaining_goals=left,
        refine_intent_hint=sanitised(answer.hint) or None,
        judged_hints=left_of,
        struck=struck,
        closed_questions=_closed(view, answer, is_answered=any(left_of.values())),
        next_steps=[step.model_dump() for step in answer.steps]
        if isinstance(answer, CriticWithPlan)
        else msgspec.UNSET,
        **_proposals(answer, status, given, {str(goal.id) for goal in view.goals.goals}),
    )
    return ModelOutput(output, layout.prompt, answered.calls)


def _proposals(
    answer: CriticAnswer, status: Mapping[str, GoalStatus], given: StageInput, known: set[str]
) -> dict[str, Any]:
    """Return what the model proposes on the goals, and what only the user can settle, if somebody can be asked."""
    new = _new_goals(answer, known)
    dropped = [goal for goal in dict.fromkeys(answer.dropped_goals) if goal in status]
    # The last goal stays: without any, a run would end as answered.
    dropped = dropped if len(dropped) < len(status) or new else []
    issues = [said for text in answer.blocking_issues if (said := sanitised(text))]
    return {
        "goal_updates": {
            "new": new,
            "refined": {goal.goal: text for goal in answer.refined_goals if (text := sanitised(goal.text))},
            "dropped": dropped,
            "blocked": [],
        },
        "add_goals_hint": new,
        "drop_goals_hint": dropped,
        "blocking_issues": issues if given.facts["may_ask"] else [],
        "intent_alignment_score": round(answer.alignment, 2),
    }


def _new_goals(answer: CriticAnswer, known: set[str]) -> list[dict[str, Any]]:
    """Return the goals to add, each with an id of its own that begins with its aspect."""
    taken = set(known)
    goals: list[dict[str, Any]] = []
    for goal in answer.new_goals:
        text = sanitised(goal.text)
        ids = (f"{goal.aspect}:{number}" if number > 1 else goal.aspect for number in itertools.count(1))
        name = next(name for name in ids if name not in taken)
        if text:
            taken.add(name)
            goals.append({"id": name, "text": text})
    return goals


async def _for_plan(context: StageContext, view: StageView) -> list[str]:
    """Return what a model needs to know to plan the next round."""
    plan, execution = plan_of(view), execution_if_any(view)
    reports = {} if execution is None else {report.step: report for report in execution.results}
    asked = [
        f"looked for: {call_text(step)}: {report.status}, {report.found} places"
        for step in plan.steps
        if not step.top_of and (report := reports.get(step.id)) is not None
    ]
    facts = [] if execution is None else execution.facts
    earlier = [f"looked for earlier: {said}" for done in passes_of(view) for said in _asked(done)]
    # Languages and folders; the README says nothing on what is missing.
    repository = (await repository_lines(context, view))[:2]
    return [*reading_of_question(view), *asked, *earlier, *seen_not_read(facts), *repository]


def _asked(done: PassRecord) -> list[str]:
    return done.draft.asked if isinstance(done.draft, ModelDraft) else []


async def _presented(context: StageContext, view: StageView, hints: dict[str, Any]) -> list[Presented]:
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        return []
    codebase = context.services.codebase(perceived.repository)
    return list(await context.run_blocking(presented, codebase, hints))


def _notes(view: StageView) -> list[str]:
    """Return what the writer itself found wanting; its open questions are numbered."""
    synthesis = synthesis_of(view)
    return [
        *(f"- contradiction: {said}" for said in synthesis.contradictions),
        *(f"- open {number}: {said}" for number, said in enumerate(synthesis.open_questions, 1)),
    ]


def _closed(view: StageView, answer: CriticAnswer, *, is_answered: bool) -> list[str]:
    """Return the open questions that the model found answered by the claims that it left; none without such a claim."""
    asked = dict(enumerate(synthesis_of(view).open_questions, 1)) if is_answered else {}
    return [asked[number] for number in dict.fromkeys(answer.answered_questions) if number in asked]
