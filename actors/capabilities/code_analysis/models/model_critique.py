"""Judges claims and goals by a model, whose approval of a result without claims does not count.

The model sees each claim with the lines that it cites, and may strike it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents import critic
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.perception import perception_if_any
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import synthesis_of
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.claim_judging import Presented, judged_hints, presented
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import CriticAnswer
from runtime.agents.capability import StageContext, StageInput
from runtime.run.goals import Goal, GoalStatus
from runtime.run.stage_view import StageView

MAX_GOAL_CHARS = 240

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
    room = agent_context.Room(model.room_tokens, model.counter.count)
    lines = [claim.text for claim in claims]
    seen = agent_context.of_lines("critic", view.raw_input, [goal.text for goal in remaining], lines, room)
    layout = render_prompt(
        context,
        "critic",
        view.raw_input if understood is None else understood.question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {one_line(goal.text, MAX_GOAL_CHARS)}" for goal in remaining) or "(none)",
        notes="\n".join(_notes(view)) or "(none)",
    )
    choices = {"goals": [str(goal.id) for goal in remaining]}
    answered = await model.generate_object(layout.messages, CriticAnswer, choices)
    answer = answered.object
    left_of, struck = judged_hints(hints, claims[: layout.line_count], answer.claims)
    status: dict[str, GoalStatus] = dict(base.goal_status)
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
    )
    return ModelOutput(output, layout.prompt, answered.calls)


async def _presented(context: StageContext, view: StageView, hints: dict[str, Any]) -> list[Presented]:
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        return []
    codebase = context.services.codebase(perceived.repository)
    return list(await context.run_blocking(presented, codebase, hints))


def _notes(view: StageView) -> list[str]:
    """Return what the writer itself found wanting."""
    synthesis = synthesis_of(view)
    return [
        *(f"- contradiction: {said}" for said in synthesis.contradictions),
        *(f"- open: {said}" for said in synthesis.open_questions),
    ]
