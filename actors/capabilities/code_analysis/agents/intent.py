"""Derives the user's intent, as an imperative, and the ordered goals of the question.

The rules reasoner reads the question's words. Intent asks the user at most once per query: at once when there is
nothing to search for, otherwise only when the critic found a problem that the user must settle. The critic's proposals
are hints; intent decides on them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents.goal_changes import new_goals
from actors.capabilities.code_analysis.agents.perception import normalise
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.handover.critique import critique_if_any
from actors.capabilities.code_analysis.handover.intent import IntentOutput, WantedGoal, intent_if_any
from actors.capabilities.code_analysis.handover.perception import PerceptionOutput, memory_of, perception_if_any
from actors.capabilities.code_analysis.handover.reading import read, written
from actors.capabilities.code_analysis.question.analysis import Question, analyse, capitalised_words
from actors.capabilities.code_analysis.question.asked_dependency import asked_dependencies
from actors.capabilities.code_analysis.question.aspects import Aspect
from actors.capabilities.code_analysis.question.described_names import described_name
from actors.capabilities.code_analysis.question.described_use import definition_under_test, used_definition
from actors.capabilities.code_analysis.question.hints import with_hint
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.question.named_folders import names_known_folder
from actors.capabilities.code_analysis.session.entity_graph import EntityGraph
from actors.capabilities.code_analysis.session.follow_up import in_context
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.codebase.overview.purposes import project_names
from runtime.codebase.resolution.symbol_links import names_borne
from runtime.primitives.ids import GoalId
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import StageView

_GOAL_TEXT: dict[Aspect, str] = {
    "answer": "Find what answers: {subject}",
    "definition": "Find where {subject} is defined",
    "mechanism": "Show how {subject} works",
    "usage": "Show who uses {subject}",
    "tests": "Find the tests of {subject}",
    "configuration": "Find where {subject} is configured",
    "listing": "List {subject}",
    "structure": "Describe how the repository is laid out",
    "history": "Tell who changed {subject}, and when",
    "together": "Find what changes together with {subject}",
    "precedents": "Tell how something like {subject} was added before",
    "requirements": "Tell where {subject} is declared and used",
}

# Goals that an answer can do without: they never make the critic ask for another round.
OPTIONAL_ASPECTS: frozenset[str] = frozenset({"usage", "tests", "history", "together", "precedents"})


MAX_ADDED_GOALS = 3

_QUESTION_IN_NEED = "What in this repository do you want to know about?"


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect intent's input: the question, earlier turns, and the hints of a critic that sent the run back."""
    perceived, critique = perception_if_any(view), critique_if_any(view)
    hinted = critique if critique is not None and critique.route == "reintent" else None
    return StageInput(
        {
            "question": _asked(view, view.raw_input if perceived is None else perceived.normalized_input),
            **await _names_in_code(context, view, perceived),
            "turns": memory_of(view).turns,
            "graph": EntityGraph() if perceived is None else perceived.traversal_state.graph,
            "hint": hinted.refine_intent_hint if hinted else None,
            "because": hinted.because if hinted else None,
            "add_goals": hinted.add_goals_hint if hinted else [],
            "drop_goals": hinted.drop_goals_hint if hinted else [],
            "clarification_question": critique.clarification_question if critique else None,
            "clarified": _is_clarified(view),
            "may_ask": bool(view.metadata.get("may_ask")),
            "goals": view.goals.remaining,
        }
    )


async def _names_in_code(context: StageContext, view: StageView, perceived: PerceptionOutput | None) -> dict[str, Any]:
    """Return what the repository is called, and the question's words that definitions bear; nothing before opening.

    Of a question that names nothing also the definition whose name its words make, and the dependency that it means.
    """
    if perceived is None or perceived.repository is None or context.services is None:
        return {}
    codebase = context.services.codebase(perceived.repository)
    project = dict(await context.run_blocking(project_names, codebase))
    words = [
        word for word in capitalised_words(_asked(view, perceived.normalized_input)) if word.lower() not in project
    ]
    names = await context.run_blocking(names_borne, codebase.index, words)
    asked = _asked(view, perceived.normalized_input)
    names_folder = await context.run_blocking(names_known_folder, codebase, asked)
    question = analyse(asked, project, names, names_folder=names_folder)
    described = await context.run_blocking(described_name, codebase.index, question)
    described = described or await context.run_blocking(definition_under_test, codebase.index, question)
    needed = await context.run_blocking(asked_dependencies, codebase, question.text)
    used = None if needed else await context.run_blocking(used_definition, codebase.index, question)
    found = {"described": described, "dependencies": list(needed), "used": used, "names_folder": names_folder}
    return {"project": project, "names": names, **found}


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Derive intent and goals from the question's words and from the names in the critic's hint."""
    facts = given.facts
    graph = msgspec.convert(facts.get("graph") or {}, EntityGraph)
    turns = msgspec.convert(facts["turns"], list[SessionTurn])
    asked = analyse(
        str(facts["question"]),
        facts.get("project"),
        facts.get("names") or (),
        facts.get("described") or None,
        facts.get("dependencies") or (),
        facts.get("used") or None,
        names_folder=facts.get("names_folder", True),
    )
    question = _with_hint(in_context(asked, turns, graph), facts)
    subject = _short(question.subject)
    if question.identifiers and (kind_of(question).of_relation or question.further):
        subject = question.identifiers[0]
    goals = [
        WantedGoal(aspect, _GOAL_TEXT[aspect].format(subject=subject), order)
        for order, aspect in enumerate(question.aspects)
    ]
    asks = _clarification_of(question, facts)
    output = IntentOutput(
        intent=kind_of(question).imperative.format(subject=subject),
        asked=str(facts["question"]),
        question=question,
        goals=goals,
        constraints=[f"only {path}" for path in question.paths],
        ambiguities=_ambiguities(question),
        goal_priorities={goal.id: goal.priority for goal in goals},
        confidence=0.9 if question.identifiers or question.paths else 0.7 if len(question.terms) > 1 else 0.4,
        clarification_needed=asks is not None,
        clarification_question=asks,
        hint_used=facts["hint"],
        is_wider=facts["because"] in {"stuck", "blocked"},
        add_goals=list(facts["add_goals"] or [])[:MAX_ADDED_GOALS],
        drop_goals=[name for name in facts["drop_goals"] or [] if str(name).partition(":")[0] in OPTIONAL_ASPECTS],
    )
    return written(output)


def _ambiguities(question: Question) -> list[str]:
    """List the ambiguities that the question's words show."""
    said: list[str] = []
    if question.refers_back:
        said.append("it refers back, and nothing that was asked before tells to what")
    if len(question.identifiers) > 1 and not kind_of(question).of_several and not question.further:
        said.append(f"it names {len(question.identifiers)} things; the first is looked at first")
    return said


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Add goals in the first round; on later visits refine the intent and decide on the critic's proposals.

    The user is asked once; after that the run continues with what it has.
    """
    clarified = _is_clarified(view)
    intent = read("intent", output, IntentOutput)
    if intent.clarification_needed and not clarified:
        asked = (intent.clarification_question or "").strip() or _QUESTION_IN_NEED
        waiting = msgspec.structs.replace(intent, clarified=True)
        return StageResult(written(waiting), interrupt=InterruptRequest("clarification", asked))
    settled = written(msgspec.structs.replace(intent, clarified=clarified))
    if not view.goals.goals:
        return StageResult(settled, goals=GoalsPatch(add=_first_goals(intent)))
    added = new_goals(view.goals, intent.add_goals)
    remaining = [goal.id for goal in view.goals.remaining]
    dropped = [GoalId(name) for name in intent.drop_goals if name in remaining]
    if len(dropped) >= len(remaining) + len(added):
        dropped = []
    return StageResult(settled, goals=GoalsPatch(drop=tuple(dropped), add=tuple(added)) if added or dropped else None)


def _first_goals(intent: IntentOutput) -> tuple[Goal, ...]:
    """Build the goals of an intent in its order, with their dependencies and priorities."""
    names = {goal.id for goal in intent.goals}
    return tuple(
        Goal(
            GoalId(goal.id),
            goal.text,
            priority=intent.goal_priorities.get(goal.id, goal.priority),
            depends_on=tuple(GoalId(name) for name in intent.goal_dependencies.get(goal.id, ()) if name in names),
        )
        for goal in intent.goals
    )


def _is_clarified(view: StageView) -> bool:
    interrupt = view.interrupt
    answered = interrupt is not None and interrupt.kind == "clarification" and interrupt.response is not None
    earlier = intent_if_any(view)
    return answered or (earlier is not None and earlier.clarified)


def _with_hint(question: Question, facts: dict[str, Any]) -> Question:
    """Add the names, paths and terms of the critic's own hint to the question; a generated hint adds nothing."""
    if not facts["hint"] or facts["because"] != "asked_again":
        return question
    return with_hint(question, str(facts["hint"]))


def _clarification_of(question: Question, facts: dict[str, Any]) -> str | None:
    """Return the question to the user, or None.

    It is asked when there is nothing to search for, or the critic found a problem that only the user can settle.
    """
    if facts["clarified"]:
        return None
    if not question.intelligible:
        return _clarification(question, is_first=not facts["turns"])
    if facts["because"] in {"blocked", "stuck"} and facts["may_ask"]:
        return str(facts["clarification_question"] or "") or _QUESTION_IN_NEED
    return None


def _asked(view: StageView, question: str) -> str:
    """Return the question with the user's clarification; later visits read it from intent's earlier output."""
    interrupt = view.interrupt
    if interrupt is not None and interrupt.kind == "clarification" and interrupt.response is not None:
        return f"{question} {normalise(interrupt.response.text)}".strip()
    earlier = intent_if_any(view)
    return (earlier.asked if earlier is not None else "") or question


def _clarification(question: Question, *, is_first: bool) -> str:
    shown = plain(question.text.strip()[:60])
    back = "It refers back, and is the first of its session: ask both in one (`--session NAME` at the terminal). "
    return (
        f"I found nothing in '{shown}' that could be looked for in code. "
        f"{back if question.refers_back and is_first else ''}"
        "Which function, file, feature or behaviour do you want to know about?"
    )


def _short(text: str, limit: int = 90) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1].rsplit(" ", 1)[0] + "…"
