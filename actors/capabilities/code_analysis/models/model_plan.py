"""Plans tool calls by a model, or takes those that came with another agent's answer of that model."""

from __future__ import annotations

import functools

import msgspec
from pydantic import ValidationError

from actors.capabilities.code_analysis.agents import planner
from actors.capabilities.code_analysis.handover.intent import HandedPlan, intent_if_any
from actors.capabilities.code_analysis.handover.passes import last_pass
from actors.capabilities.code_analysis.handover.plan import PlanOutput, plan_if_any
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.planned_steps import planned_steps
from actors.capabilities.code_analysis.models.planning_context import codebase_of, planner_context, repository_lines
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import PlanAnswer
from actors.capabilities.code_analysis.models.step_arguments import PLANNED_TOOLS
from actors.capabilities.code_analysis.plans.history import history_steps
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.kinds import PlanRequest
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.codebase import Codebase
from runtime.errors import InvalidOutputError
from runtime.run.goals import Goal
from runtime.run.stage_view import StageView

MAX_GOAL_CHARS = 240
# The critic plans only where it sees something to look for.
CRITICS_FEASIBILITY = 80


async def plan_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Return the plan that came with the goals or the last verdict; ask the model where none can be carried out.

    A second try at a plan, and a planner with a prompt of its own, always ask.
    """
    handed = _handed(view)
    has_own_prompt = context.model_use is not None and context.model_use.prompt_key is not None
    if handed is not None and not has_own_prompt and plan_if_any(view) is None:
        try:
            answer = PlanAnswer(steps=handed.steps, feasibility=handed.feasibility)
            return ModelOutput(await _output(context, view, given, answer), "", 0)
        except (ValidationError, InvalidOutputError):
            pass  # none of its steps can be carried out, so the planner's own prompt is asked
    return await plan_anew_by_model(context, view, given)


def _handed(view: StageView) -> HandedPlan | None:
    """Return the plan for this pass that another agent's answer held; None without one."""
    passes, understood = len(view.goals.finished_rounds), intent_if_any(view)
    if understood is not None and isinstance(understood.plan, HandedPlan) and understood.plan.passes_before == passes:
        return understood.plan
    steps = last_pass(view).next_steps
    return HandedPlan(steps, CRITICS_FEASIBILITY, passes) if steps else None


async def plan_anew_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for tool calls; add steps that read the places found, and steps for git history."""
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    question = msgspec.convert(given.facts["question"], Question)
    texts = [goal.text for goal in goals]
    model = model_of(context)
    room = agent_context.Room(model.room_tokens, model.counter.count)
    asked = model.counter.cut(question.text, int(model.room_tokens * 0.25))
    known = await repository_lines(context, view)
    seen = planner_context(view, asked, texts, given.facts.get("hint"), list(given.facts["measured"]), room, known)
    layout = render_prompt(
        context,
        "planner",
        question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {one_line(goal.text, MAX_GOAL_CHARS)}" for goal in goals),
        round=str(given.facts["round"]),
    )
    tools = [tool for tool in given.facts["tools"] if tool in PLANNED_TOOLS]
    choices = {"goals": [str(goal.id) for goal in goals], "tools": tools}
    answered = await model.generate_object(layout.messages, PlanAnswer, choices)
    output = await _output(context, view, given, answered.object)
    shown = agent_context.record(seen, last_pass(view).context.raw_tokens)
    return ModelOutput(msgspec.structs.replace(output, shown=shown), layout.prompt, answered.calls)


async def _output(context: StageContext, view: StageView, given: StageInput, answer: PlanAnswer) -> PlanOutput:
    """Turn planned calls into the planner's output; raise InvalidOutputError when none can be carried out."""
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    question = msgspec.convert(given.facts["question"], Question)
    tools = list(given.facts["tools"])
    calls = [call.model_copy(update={"why": sanitised(call.why)}) for call in answer.steps]
    is_file = functools.partial(_is_file, codebase_of(context, view))
    steps = await context.run_blocking(planned_steps, calls, question, goals, tools, is_file)
    # What git is asked follows from the goals: which place it is about is known when the searches have run.
    found_by = tuple(step.id for step in steps if step.tool == "locate")
    by_aspect = {aspect_of(goal): str(goal.id) for goal in goals}
    is_planned = {step.tool for step in steps}
    of_git = history_steps(PlanRequest(question, by_aspect), found_by) if found_by or question.paths else []
    steps += [step for step in of_git if step.tool in tools and step.tool not in is_planned]
    if not steps:
        raise InvalidOutputError("the plan has no step that can be carried out", problem="no usable step")
    is_likely = answer.feasibility >= planner.MIN_FEASIBILITY
    return PlanOutput(
        plan_id=f"round-{given.facts['round']}",
        steps=steps,
        rationale="; ".join(call.why for call in calls),
        target_goals=[str(goal.id) for goal in goals],
        stage_number=given.facts["round"],
        feasibility_score=answer.feasibility,
        risk_factors=[
            *([] if is_likely else ["the model thinks the plan unlikely to answer the question"]),
            *given.facts["avoided"],
        ],
    )


def _is_file(codebase: Codebase | None, target: str) -> bool:
    """Return whether a target is the path of a file, or the end of one."""
    if codebase is None:
        return "/" in target
    if codebase.file(target) is not None:
        return True
    return "." in target and any(file.path.endswith(f"/{target}") for file in codebase.files())
