"""Reads a question's intent and goals by a model, which plans the first tool calls along with them.

The model is asked again only when its goals may change: after a critic's own hint, or a user's clarification.
"""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.agents import intent
from actors.capabilities.code_analysis.handover.intent import HandedPlan, IntentOutput, WantedGoal, intent_if_any
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models import schemas as shapes
from actors.capabilities.code_analysis.models.model_input import MOST_TURNS, model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.planning_context import fitted, planner_context, repository_lines
from actors.capabilities.code_analysis.models.prompt_layout import NOTHING, PLAN_FORM, render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.step_arguments import PLANNED_TOOLS
from actors.capabilities.code_analysis.question.kinds import question_kinds
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.files.words import looks_like_identifier
from runtime.run.stage_view import StageView

PLANNER_ROLE = "planner"
TURNS_SHARE = 0.15


async def intent_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for intent and goals; only the rules decide whether a clarification is needed."""
    base = read("intent", await intent.by_rules(context, view, given), IntentOutput)
    if (earlier := _still_holding(view, given)) is not None:
        return ModelOutput(_kept(earlier, base), _prompt_of(earlier), 0)
    question, model = base.question, model_of(context)
    turns = msgspec.convert(given.facts["turns"], list[SessionTurn])
    asked = [one_line(turn.question, 300) for turn in turns[-MOST_TURNS:]]
    plans = model.shares_model_with(PLANNER_ROLE)
    room = agent_context.Room(model.room_tokens, model.counter.count)
    shown = model.counter.cut(question.text, int(model.room_tokens * 0.25))
    seen = planner_context(view, shown, [], given.facts.get("hint"), (), room, await repository_lines(context, view))
    layout = render_prompt(
        context,
        "intent",
        question.text,
        seen.context.recent,
        turns=fitted(context, asked, TURNS_SHARE) or NOTHING,
        plan=PLAN_FORM if plans else "",
    )
    choices = {"tools": sorted(PLANNED_TOOLS), "kinds": list(question_kinds())}
    shape = shapes.IntentWithPlan if plans else shapes.IntentAnswer
    answered = await model.generate_object(layout.messages, shape, choices)
    if base.clarification_needed:
        return ModelOutput(base, layout.prompt, answered.calls)
    return ModelOutput(_output(base, answered.object, view), layout.prompt, answered.calls)


def _still_holding(view: StageView, given: StageInput) -> IntentOutput | None:
    """Return the model's earlier reading of the question, unless its goals may change; None before there is one."""
    earlier = intent_if_any(view)
    if earlier is None or _reasoner_of(earlier) != "llm" or given.facts["because"] == "asked_again":
        return None
    return earlier if given.facts["question"] == earlier.asked else None


def _reasoner_of(understood: IntentOutput) -> str:
    return str(understood.reasoned_by.get("reasoner")) if isinstance(understood.reasoned_by, dict) else ""


def _prompt_of(understood: IntentOutput) -> str:
    return str(understood.reasoned_by.get("prompt", "")) if isinstance(understood.reasoned_by, dict) else ""


def _kept(earlier: IntentOutput, base: IntentOutput) -> IntentOutput:
    """Return the earlier reading with what the rules now say on asking back, hints and the critic's proposals."""
    now = ("clarification_needed", "clarification_question", "hint_used", "is_wider", "add_goals", "drop_goals")
    return msgspec.structs.replace(earlier, **{name: getattr(base, name) for name in now})


def _output(base: IntentOutput, answer: shapes.IntentAnswer, view: StageView) -> IntentOutput:
    ids = _ids(answer.goals)
    named = [name for name in answer.names if looks_like_identifier(name) and name in base.question.text]
    question = msgspec.structs.replace(
        base.question,
        kind=answer.kind,
        aspects=tuple(dict.fromkeys(goal.aspect for goal in answer.goals)),
        identifiers=tuple(dict.fromkeys((*base.question.identifiers, *named))),
    )
    wanted = [
        WantedGoal(name, sanitised(goal.text) or goal.aspect, number)
        for number, (name, goal) in enumerate(zip(ids, answer.goals, strict=True))
    ]
    plan: HandedPlan | msgspec.UnsetType = msgspec.UNSET
    if isinstance(answer, shapes.IntentWithPlan) and answer.steps:
        steps = [step.model_dump() for step in answer.steps]
        plan = HandedPlan(steps, answer.feasibility, len(view.goals.finished_rounds))
    return msgspec.structs.replace(
        base,
        intent=sanitised(answer.intent) or base.intent,
        question=question,
        goals=wanted,
        goal_priorities={goal.id: goal.priority for goal in wanted},
        goal_dependencies=_dependencies(ids, answer.goals),
        constraints=_each(answer.constraints) or base.constraints,
        ambiguities=_each(answer.ambiguities),
        confidence=round(answer.confidence, 2),
        plan=plan,
    )


def _ids(goals: list[shapes.WantedGoal]) -> list[str]:
    """Return the id of each goal: its aspect, and a number where the aspect occurs again."""
    ids: list[str] = []
    for goal in goals:
        again = sum(name.partition(":")[0] == goal.aspect for name in ids)
        ids.append(f"{goal.aspect}:{again + 1}" if again else goal.aspect)
    return ids


def _dependencies(ids: list[str], goals: list[shapes.WantedGoal]) -> dict[str, list[str]]:
    """Map goals to those that must be met before; a number that names no other goal is ignored."""
    after = {
        name: [
            ids[number - 1] for number in dict.fromkeys(goal.after) if number <= len(ids) and ids[number - 1] != name
        ]
        for name, goal in zip(ids, goals, strict=True)
    }
    return {name: needed for name, needed in after.items() if needed}


def _each(texts: list[str]) -> list[str]:
    return [said for text in texts if (said := sanitised(text))]
