"""Judges goals by a model, whose own approval of a result does not count."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents import critic
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import (
    CriticAnswer,
)
from runtime.agents.capability import StageContext, StageInput
from runtime.run.goals import Goal, GoalStatus
from runtime.run.stage_view import StageView

_STATUS: dict[str, GoalStatus] = {
    "satisfied": "satisfied",
    "partial": "partial",
    "unmet": "pending",
    "blocked": "blocked",
}


async def critique_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for a verdict, within limits that it cannot override.

    A goal without a claim is never satisfied, and the model's approval of a result without claims does not count.
    """
    base = read("critic", await critic.by_rules(context, view, given), CritiqueOutput)
    understood = intent_if_any(view)
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    hints: dict[str, list[dict[str, Any]]] = given.facts["hints_for_goals"]
    lines = [f"- {goal}: {one_line(claim.get('text', ''), 300)}" for goal, found in hints.items() for claim in found]
    seen = agent_context.of_lines("critic", view.raw_input, [goal.text for goal in remaining], lines)
    layout = render_prompt(
        context,
        "critic",
        view.raw_input if understood is None else understood.question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {one_line(goal.text, 160)}" for goal in remaining),
    )
    choices = {"goals": [str(goal.id) for goal in remaining]}
    answered = await model_of(context).generate_object(layout.messages, CriticAnswer, choices)
    answer = answered.object
    status: dict[str, GoalStatus] = dict(base.goal_status)
    for judged in answer.goals:
        if judged.goal in status and (hints.get(judged.goal) or judged.status != "satisfied"):
            status[judged.goal] = _STATUS[judged.status]
    left = [goal for goal, state in status.items() if state not in {"satisfied", "blocked"}]
    has_claims = any(hints.values())
    verdict = answer.verdict if has_claims or answer.verdict != "approved" else "next_stage"
    output = msgspec.structs.replace(
        base,
        verdict="approved" if not left and verdict == "next_stage" else verdict,
        confidence=round(answer.confidence, 2),
        goal_status=status,
        satisfied_goals=[goal for goal, state in status.items() if state == "satisfied"],
        remaining_goals=left,
        refine_intent_hint=sanitised(answer.hint) or None,
    )
    return ModelOutput(output, layout.prompt, answered.calls)
