"""Defines the `llm` reasoners of four agents, which check a model's output against the facts.

A model selects, orders and words; it never creates evidence. Its claims refer to facts by number and take their
citations from those; a claim that names code which its fact does not show is dropped and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents import critic, intent, planner, synthesizer
from actors.capabilities.code_analysis.answers.wording import change_claim, together_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, plain
from actors.capabilities.code_analysis.evidence.facts import Fact, FactKind
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.intent import IntentOutput, WantedGoal, intent_if_any
from actors.capabilities.code_analysis.handover.passes import last_pass
from actors.capabilities.code_analysis.handover.perception import perception_if_any
from actors.capabilities.code_analysis.handover.plan import PlanOutput
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.planned_steps import TARGET_OF_TOOL, planned_steps
from actors.capabilities.code_analysis.models.planning_context import planner_context
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import (
    MOST_FACTS,
    CriticAnswer,
    IntentAnswer,
    PlanAnswer,
    SynthesisAnswer,
    WrittenClaim,
)
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.ranking.delegation import ranked_places
from actors.capabilities.code_analysis.session import recall
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.files.words import looks_like_identifier
from runtime.errors import InvalidOutputError
from runtime.llm.stage_llm import StageLlm
from runtime.llm.structured import strings_so_far
from runtime.run.goals import Goal, GoalStatus
from runtime.run.stage_view import StageView

MOST_TURNS = 3

_ROLE_OF_FACT: dict[FactKind, ClaimRole] = {
    "definition": "lead",
    "code": "lead",
    "excerpt": "item",
    "caller": "caller",
    "reference": "caller",
    "callee": "step",
    "importer": "importer",
    "test": "test",
    "module": "module",
    "trace": "step",
}

_STATUS: dict[str, GoalStatus] = {
    "satisfied": "satisfied",
    "partial": "partial",
    "unmet": "pending",
    "blocked": "blocked",
}

_NAMED = re.compile(r"`([^`]+)`|([A-Za-z_][\w.]*)")


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
        hint=_one_line(given.facts.get("hint") or "(none)", 200),
    )
    answered = await _llm(context).generate_object(layout.messages, IntentAnswer)
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
    wanted = [
        WantedGoal(goal.aspect, _sanitised(goal.text) or goal.aspect, number) for number, goal in enumerate(goals)
    ]
    output = msgspec.structs.replace(
        base,
        intent=_sanitised(answer.intent) or base.intent,
        question=question,
        goals=wanted,
        goal_priorities={goal.id: goal.priority for goal in wanted},
    )
    return ModelOutput(output, layout.prompt, answered.calls)


async def plan_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for tool calls; add steps that read the places found, and steps for git history."""
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    tools = [tool for tool in given.facts["tools"] if tool in TARGET_OF_TOOL]
    question = msgspec.convert(given.facts["question"], Question)
    measured = await _measured(context, view)
    texts = [goal.text for goal in goals]
    seen = planner_context(view, question.text, texts, given.facts.get("hint"), measured)
    layout = render_prompt(
        context,
        "planner",
        question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {_one_line(goal.text, 160)}" for goal in goals),
        round=str(given.facts["round"]),
    )
    choices = {"goals": [str(goal.id) for goal in goals], "tools": tools}
    answered = await _llm(context).generate_object(layout.messages, PlanAnswer, choices)
    calls = [call.model_copy(update={"why": _sanitised(call.why)}) for call in answered.object.steps]
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
        risk_factors=[] if is_likely else ["the model thinks the plan unlikely to answer the question"],
        shown=agent_context.record(seen, last_pass(view).context.raw_tokens),
    )
    return ModelOutput(output, layout.prompt, answered.calls)


async def _measured(context: StageContext, view: StageView) -> list[dict[str, Any]]:
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None or context.services is None:
        return []
    return await recall.recall_tool_metrics(context, context.services.codebase(perceived.repository))


async def synthesis_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for claims about the facts; goals without a usable claim keep those of the rules."""
    base = read("synthesizer", await synthesizer.by_rules(context, view, given), SynthesisOutput)
    question = msgspec.convert(given.facts["question"], Question)
    facts = _best_first(question, msgspec.convert(given.facts["facts"], list[Fact]))[:MOST_FACTS]
    targets = [str(goal) for goal in given.facts["target_goals"]]
    texts = {str(goal.id): goal.text for goal in view.goals.goals}
    seen = agent_context.of_facts(
        "synthesizer", question.text, [texts.get(goal, goal) for goal in targets], facts, view.goals.round_number
    )
    layout = render_prompt(
        context,
        "synthesizer",
        question.text,
        agent_context.numbered(seen),
        goals="\n".join(f"- {goal}: {_one_line(texts.get(goal, goal), 160)}" for goal in targets),
    )

    def show(written: str) -> None:
        context.show("\n".join(_sanitised(text) for text in strings_so_far(written, "text")))

    answered = await _llm(context).generate_object(layout.messages, SynthesisAnswer, {"goals": targets}, show)
    claims, dropped = claims_of(answered.object.claims, facts[: layout.line_count], targets)
    hints = {goal: msgspec.to_builtins(claims[goal]) or base.hints_for_goals.get(goal, []) for goal in targets}
    execution = execution_if_any(view)
    output = msgspec.structs.replace(
        base,
        hints_for_goals=hints,
        key_flows=[claim["text"] for found in hints.values() for claim in found if claim["role"] == "step"],
        open_questions=[_sanitised(text) for text in answered.object.open_questions],
        claims_dropped=dict(dropped),
        shown=agent_context.record(seen, 0 if execution is None else execution.context.raw_tokens),
        filled_by_rules=[goal for goal in targets if not claims[goal] and hints[goal]],
    )
    return ModelOutput(output, layout.prompt, answered.calls)


def claims_of(
    written: list[WrittenClaim], facts: list[Fact], goals: list[str]
) -> tuple[dict[str, list[Claim]], Counter[str]]:
    """Build claims by goal with the citations of their facts; count the dropped ones by reason."""
    claims: dict[str, list[Claim]] = {goal: [] for goal in goals}
    dropped: Counter[str] = Counter()
    for claim in written:
        text = _sanitised(claim.text)
        if claim.goal not in claims:
            dropped["no_such_goal"] += 1
        elif claim.fact > len(facts):
            dropped["no_such_fact"] += 1
        elif not text:
            dropped["no_text"] += 1
        elif unsupported_names(text, facts[claim.fact - 1]):
            dropped["names_what_is_not_there"] += 1
        else:
            fact = facts[claim.fact - 1]
            made = _claim_of(fact, text)
            claims[claim.goal] += [] if made in claims[claim.goal] else [made]
    return claims, dropped


def _claim_of(fact: Fact, text: str) -> Claim:
    """Build the claim for a fact in the model's words; claims about commits use fixed wording."""
    if fact.kind == "change":
        return change_claim(fact)
    if fact.kind == "together":
        return together_claim(fact)
    return Claim(_ROLE_OF_FACT[fact.kind], text, (fact.citation,), subject=fact.name)


def unsupported_names(text: str, fact: Fact) -> list[str]:
    """Return the code names in a sentence that the fact behind it does not show."""
    shown = "\n".join(
        (
            *(fact.name, fact.signature, fact.docstring, fact.text, fact.about),
            *(fact.citation.quote, fact.citation.symbol or "", fact.citation.file),
        )
    )
    words = [(quoted, word.rstrip(".")) for quoted, word in _NAMED.findall(text)]
    named = [quoted or word for quoted, word in words if quoted or looks_like_identifier(word)]
    return [name for name in named if not all(part in shown for part in re.findall(r"\w+", name))]


async def critique_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for a verdict, within limits that it cannot override.

    A goal without a claim is never satisfied, and the model's approval of a result without claims does not count.
    """
    base = read("critic", await critic.by_rules(context, view, given), CritiqueOutput)
    understood = intent_if_any(view)
    remaining = msgspec.convert(given.facts["remaining"], list[Goal])
    hints: dict[str, list[dict[str, Any]]] = given.facts["hints_for_goals"]
    lines = [f"- {goal}: {_one_line(claim.get('text', ''), 300)}" for goal, found in hints.items() for claim in found]
    seen = agent_context.of_lines("critic", view.raw_input, [goal.text for goal in remaining], lines)
    layout = render_prompt(
        context,
        "critic",
        view.raw_input if understood is None else understood.question.text,
        seen.context.recent,
        goals="\n".join(f"- {goal.id}: {_one_line(goal.text, 160)}" for goal in remaining),
    )
    choices = {"goals": [str(goal.id) for goal in remaining]}
    answered = await _llm(context).generate_object(layout.messages, CriticAnswer, choices)
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
        refine_intent_hint=_sanitised(answer.hint) or None,
    )
    return ModelOutput(output, layout.prompt, answered.calls)


def _llm(context: StageContext) -> StageLlm:
    assert context.llm is not None
    return context.llm


def _best_first(question: Question, facts: list[Fact]) -> list[Fact]:
    """Sort facts by the rank of their places, so that the least important are cut first."""
    order = {
        (entity.citation.file, entity.citation.start_line): number
        for number, entity in enumerate(ranked_places(question, facts))
    }
    return sorted(facts, key=lambda fact: order.get((fact.citation.file, fact.citation.start_line), len(order)))


def _sanitised(text: str) -> str:
    """Put a model's text on one line, without anything that reads like a citation mark."""
    return plain(_one_line("".join(char for char in text if char.isprintable() or char.isspace()), 300))


def _one_line(text: str, most: int) -> str:
    return " ".join(str(text).split())[:most]
