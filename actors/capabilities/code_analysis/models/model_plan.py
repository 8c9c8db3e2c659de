"""Plans tool calls by a model, which chooses among the tools and targets that it is shown."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.agents import planner
from actors.capabilities.code_analysis.handover.passes import last_pass
from actors.capabilities.code_analysis.handover.plan import PlanOutput
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.planned_steps import TARGET_OF_TOOL, planned_steps
from actors.capabilities.code_analysis.models.planning_context import planner_context
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import (
    PlanAnswer,
)
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from runtime.agents.capability import StageContext, StageInput
from runtime.errors import InvalidOutputError
from runtime.run.goals import Goal
from runtime.run.stage_view import StageView


async def plan_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for tool calls; add steps that read the places found, and steps for git history."""
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    tools = [tool for tool in given.facts["tools"] if tool in TARGET_OF_TOOL]
    question = msgspec.convert(given.facts["question"], Question)
    measured = list(given.facts["measured"])
    texts = [goal.text for goal in goals]
    seen = planner_context(view, question.text, texts, given.facts.get("hint"), measured)
    layout = render_prompt(
        context,
        "planner",
        question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {one_line(goal.text, 160)}" for goal in goals),
        round=str(given.facts["round"]),
    )
    choices = {"goals": [str(goal.id) for goal in goals], "tools": tools}
    answered = await model_of(context).generate_object(layout.messages, PlanAnswer, choices)
    calls = [call.model_copy(update={"why": sanitised(call.why)}) for call in answered.object.steps]
    steps = planned_steps(calls, question, goals, tools)
    # What git is asked follows from the goals: which place it is about is known when the searches have run.
    found_by = tuple(step.id for step in steps if step.tool == "locate")
    by_aspect = {aspect_of(goal): str(goal.id) for goal in goals}
    of_git = planner.history_steps(question, by_aspect, found_by) if found_by or question.paths else []
    steps += [step for step in of_git if step.tool in given.facts["tools"]]
    if not steps:
        raise InvalidOutputError("the plan has no step that can be carried out", problem="no usable step")
    feasibility = answered.object.feasibility
    is_likely = feasibility >= planner.MIN_FEASIBILITY
    output = PlanOutput(
        plan_id=f"round-{given.facts['round']}",
        steps=steps,
        rationale="; ".join(call.why for call in calls),
        target_goals=[str(goal.id) for goal in goals],
        stage_number=given.facts["round"],
        feasibility_score=feasibility,
        risk_factors=[
            *([] if is_likely else ["the model thinks the plan unlikely to answer the question"]),
            *given.facts["avoided"],
        ],
        shown=agent_context.record(seen, last_pass(view).context.raw_tokens),
    )
    return ModelOutput(output, layout.prompt, answered.calls)
