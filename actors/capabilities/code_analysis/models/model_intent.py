"""Reads a question's intent and goals by a model, and checks them against the question."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.agents import intent
from actors.capabilities.code_analysis.handover.intent import IntentOutput, WantedGoal
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import MOST_TURNS, model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import (
    IntentAnswer,
)
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.files.words import looks_like_identifier
from runtime.run.stage_view import StageView


async def intent_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for intent and goals; only the rules decide whether a clarification is needed."""
    base = read("intent", await intent.by_rules(context, view, given), IntentOutput)
    question = base.question
    turns = msgspec.convert(given.facts["turns"], list[SessionTurn])
    asked = [turn.question for turn in turns[-MOST_TURNS:]]
    seen = agent_context.of_lines("intent", question.text, [], asked[::-1])
    layout = render_prompt(
        context,
        "intent",
        question.text,
        seen.context.recent[::-1],
        hint=one_line(given.facts.get("hint") or "(none)", 200),
    )
    answered = await model_of(context).generate_object(layout.messages, IntentAnswer)
    if base.clarification_needed:
        return ModelOutput(base, layout.prompt, answered.calls)
    answer = answered.object
    goals = list({goal.aspect: goal for goal in reversed(answer.goals)}.values())[::-1]
    named = [name for name in answer.names if looks_like_identifier(name) and name in question.text]
    question = msgspec.structs.replace(
        question,
        kind=answer.kind,
        aspects=tuple(goal.aspect for goal in goals),
        identifiers=tuple(dict.fromkeys((*question.identifiers, *named))),
    )
    wanted = [WantedGoal(goal.aspect, sanitised(goal.text) or goal.aspect, number) for number, goal in enumerate(goals)]
    output = msgspec.structs.replace(
        base,
        intent=sanitised(answer.intent) or base.intent,
        question=question,
        goals=wanted,
        goal_priorities={goal.id: goal.priority for goal in wanted},
    )
    return ModelOutput(output, layout.prompt, answered.calls)
