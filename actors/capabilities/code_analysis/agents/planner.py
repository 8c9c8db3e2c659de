"""Chooses the tool calls for each goal. The rules reasoner plans by the kind of question.

A step may depend on an earlier one: `top_of` names steps for whose best results it is repeated, so that one round finds
a place and reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents.tool_choice import avoided_tools
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput, critique_if_any
from actors.capabilities.code_analysis.handover.intent import intent_of
from actors.capabilities.code_analysis.handover.passes import pass_record
from actors.capabilities.code_analysis.handover.perception import memory_of, perception_if_any
from actors.capabilities.code_analysis.handover.plan import PlanOutput, plan_if_any, read_plan
from actors.capabilities.code_analysis.handover.reading import written
from actors.capabilities.code_analysis.plans.searches import distinct_steps
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.hints import with_hint
from actors.capabilities.code_analysis.question.kinds import PlanRequest, kind_of
from actors.capabilities.code_analysis.session import recall
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.agents.profile import AgentProfile
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.run.goals import Goal
from runtime.run.stage_view import StageView
from runtime.tools.executor import NONE_LEFT

MAX_RECALLED = 2
HEAD_START_S = 2.0
FEASIBILITY = "feasibility"
MIN_FEASIBILITY = 40

PROFILE = AgentProfile(thresholds={FEASIBILITY: MIN_FEASIBILITY}, latency_budget_ms=30_000)


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect the planner's input: the question, the goals that are ready, and the available tools."""
    intent = intent_of(view)
    critique = _replanned_by(view)
    hint = _hint_of(critique)
    # Only a hint of the critic's own names something; the ones that are generated say how to look.
    is_own = critique is not None and critique.because == "asked_again"
    listed = await context.tools.call("list_tools", None, {})
    tools = [entry["name"] for entry in _tools_of(listed)]
    measured = await _measured(context, view)
    avoided = avoided_tools(measured, tools)
    return StageInput(
        {
            "question": with_hint(intent.question, hint) if hint and is_own else intent.question,
            "goals": view.goals.ready,
            "round": view.goals.round_number,
            "pass": len(view.goals.finished_rounds) + _tries(view),
            "is_wider": intent.is_wider,
            "tools": [tool for tool in tools if tool not in avoided],
            "measured": measured,
            "avoided": list(avoided.values()),
            "none_left": (listed.error or "").endswith(NONE_LEFT),
            "earlier": memory_of(view).earlier_answers,
            "hint": hint or intent.hint_used,
        }
    )


async def _measured(context: StageContext, view: StageView) -> list[dict[str, Any]]:
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        return []
    return await recall.recall_tool_metrics(context, str(perceived.repository["root"]))


def _replanned_by(view: StageView) -> CritiqueOutput | None:
    """Return the critique that sent the run back to the planner; None where there is none."""
    critique = critique_if_any(view)
    return critique if critique is not None and critique.route == "replan" else None


def _hint_of(critique: CritiqueOutput | None) -> str | None:
    if critique is None:
        return None
    return critique.replan_feedback or critique.refine_intent_hint or None


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Plan steps by the kind of question; later passes and second tries also search for each word."""
    question = msgspec.convert(given.facts["question"], Question)
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    steps = plan_steps(question, goals, int(given.facts["pass"]), bool(given.facts["is_wider"]))
    usable = [step for step in steps if step.tool in given.facts["tools"]]
    if usable and int(given.facts["pass"]) == 1:
        # An identical question finds its places without a recall.
        earlier = msgspec.convert(given.facts["earlier"], list[EarlierAnswer])
        similar = [answer for answer in earlier if answer.question != question.text]
        usable += _recall_steps(similar, tuple(goal.id for goal in goals))
    feasibility = _feasibility(question, usable)
    plan = PlanOutput(
        plan_id=f"round-{given.facts['round']}",
        steps=usable,
        rationale=f"a {question.kind} question, {len(question.identifiers)} names, {len(question.terms)} words",
        target_goals=[str(goal.id) for goal in goals],
        stage_number=given.facts["round"],
        feasibility_score=feasibility,
        risk_factors=[
            *_risks(feasibility, _enough(context), bool(given.facts.get("none_left"))),
            *given.facts.get("avoided", ()),
        ],
    )
    return written(plan)


def _recall_steps(earlier: Sequence[EarlierAnswer], goals: tuple[str, ...]) -> list[Step]:
    """Build steps that reread the lines cited by the most similar earlier answer, so that they can be cited."""
    cited = [place for answer in earlier[:1] for place in answer.cited][:MAX_RECALLED]
    return [
        Step(
            f"recall{number}",
            "recall",
            "read_code",
            {"path": place.file, "start_line": place.start_line, "end_line": place.end_line},
            goals,
            "an earlier answer cites it, and its lines are unchanged",
        )
        for number, place in enumerate(cited)
    ]


def _enough(context: StageContext) -> float:
    """Return the feasibility, of 100, below which a plan is made once more."""
    return context.profile.thresholds.get(FEASIBILITY, MIN_FEASIBILITY)


def _risks(feasibility: int, enough: float, none_left: bool) -> list[str]:
    if none_left:
        return [f"no tool can be called: {NONE_LEFT}"]
    return [] if feasibility >= enough else ["the question has few words to look for"]


def _feasibility(question: Question, usable: Sequence[Step]) -> int:
    """Rate how likely the steps are to succeed, 0 to 100: names and paths count most, then each word."""
    if not usable:
        return 0
    if kind_of(question).needs_no_subject:
        return 100
    return min(100, 30 + 40 * bool(question.identifiers or question.paths) + 15 * len(question.terms))


async def thoroughly(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Plan with a search for each word from the first round on.

    The quick planner gets a head start of HEAD_START_S, so that the choice depends on whether it is slow or fails, and
    not on chance.
    """
    await context.clock.sleep(HEAD_START_S)
    facts = {**given.facts, "pass": max(2, int(given.facts["pass"]))}
    return await by_rules(context, view, StageInput(facts))


async def choose(context: StageContext, view: StageView) -> StageResult:
    """Take the plan that was ready first; the other planner was cancelled and has no output."""
    made = (plan_if_any(view, name) for name in ("planner_quick", "planner_thorough"))
    first = next(plan for plan in made if plan is not None)
    risks = [*first.risk_factors, *([_weakness(first.feasibility_score)] if first.route == "again" else [])]
    return StageResult(written(msgspec.structs.replace(first, route="go_on", risk_factors=risks)))


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Restrict a plan to remaining goals; replan once per round when its feasibility is too low."""
    remaining = {goal.id for goal in view.goals.remaining}
    targets = [goal for goal in output.get("target_goals") or [] if isinstance(goal, str) and goal in remaining]
    score = _score(output.get("feasibility_score"))
    plan = read_plan("planner", {**output, "target_goals": targets, "feasibility_score": score})
    is_weak = score < _enough(context)
    is_again = is_weak and _replans_of_round(view) == 0
    settled = msgspec.structs.replace(
        plan,
        groups=independent_groups(plan.steps),
        route="again" if is_again else "go_on",
        tries=_tries(view),
        risk_factors=[*plan.risk_factors, *([_weakness(score)] if is_weak and not is_again else [])],
    )
    return StageResult(written(settled))


def _weakness(score: int) -> str:
    return f"the plan has a feasibility of {score} of 100"


def _score(written: object) -> int:
    """Read a feasibility score, limited to 0 to 100; 0 when it is no number."""
    if isinstance(written, bool) or not isinstance(written, int | float) or written != written:
        return 0
    return int(max(0, min(100, written)))


def _tries(view: StageView) -> int:
    """Return the number of this try in its pass, from 1: the critic's transitions clear the planner's output."""
    earlier = plan_if_any(view)
    return 1 if earlier is None else earlier.tries + 1


def _replans_of_round(view: StageView) -> int:
    """Count the plans of this round that were made again."""
    board = view.goals
    plans = [pass_record(done).plan for done in board.finished_rounds if done.number == board.round_number]
    return sum((plan.tries or 1) - 1 for plan in plans) + _tries(view) - 1


def plan_steps(question: Question, goals: list[Goal], pass_number: int, is_wider: bool = False) -> list[Step]:
    """Return the steps of a pass in order, without repeats; `is_wider` also searches for parts of names."""
    by_aspect = {aspect_of(goal): str(goal.id) for goal in goals}
    return distinct_steps(kind_of(question).plan(PlanRequest(question, by_aspect, pass_number, is_wider)))


def independent_groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Group steps that depend on one another, in order; different groups may run in parallel."""
    groups: list[list[Step]] = []
    for step in steps:
        joined = [group for group in groups if any(other.id in step.top_of for other in group)]
        rest = [group for group in groups if group not in joined]
        groups = [*rest, [*(other for group in joined for other in group), step]]
    order = {step.id: position for position, step in enumerate(steps)}
    in_order = [sorted(group, key=lambda step: order[step.id]) for group in groups]
    return sorted(in_order, key=lambda group: order[group[0].id])


def _tools_of(result: Any) -> list[dict[str, Any]]:
    return list(result.data.get("tools", [])) if result.usable else []
