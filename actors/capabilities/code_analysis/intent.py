"""Intent: what the user wants, as an imperative and ordered goals. The rules reasoner reads it off the question.

It asks the user only when there is nothing to look for; otherwise the code is explored first.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.claims import plain
from actors.capabilities.code_analysis.perception import normalise
from actors.capabilities.code_analysis.question import Aspect, Question, analyse
from runtime.capability import StageContext, StageInput, StageResult
from runtime.envelope import InterruptRequest
from runtime.goals import Goal, GoalsPatch
from runtime.ids import GoalId
from runtime.supervision.commands import StageView

_GOAL_TEXT: dict[Aspect, str] = {
    "definition": "Find where {subject} is defined",
    "mechanism": "Show how {subject} works",
    "usage": "Show who uses {subject}",
    "tests": "Find the tests of {subject}",
    "configuration": "Find where {subject} is configured",
    "listing": "List {subject}",
    "structure": "Describe how the repository is laid out",
}

_IMPERATIVE: dict[str, str] = {
    "where": "Locate {subject}",
    "what": "Say what {subject} is and does",
    "how": "Explain {subject}",
    "who_calls": "Show who uses {subject}",
    "what_happens": "Trace {subject}",
    "why": "Give the reason for {subject}",
    "configured": "Show where {subject} is configured",
    "extend": "Show how to extend {subject}",
    "compare": "Compare {subject}",
    "list_all": "List {subject}",
    "overview": "Describe the repository",
}

# Goals without which an answer still is one: they never make the critic ask for another round.
OPTIONAL_ASPECTS: frozenset[str] = frozenset({"usage", "tests"})


def aspect_of(goal: Goal) -> str:
    """What a goal asks for; its id begins with it."""
    return goal.id.partition(":")[0]


async def gather(context: StageContext, view: StageView) -> StageInput:
    """What intent looks at: the normalised question, earlier turns, and the critic's hints."""
    perception = view.outputs.get("perception", {})
    return StageInput(
        {
            "question": _asked(view, str(perception.get("normalized_input", view.raw_input))),
            "turns": perception.get("memory_context", {}).get("turns", []),
            "hint": view.outputs.get("critic", {}).get("refine_intent_hint"),
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Intent and goals from the question's words."""
    question = _in_context(analyse(str(given.facts["question"])), given.facts["turns"])
    subject = _short(question.subject)
    if question.kind == "who_calls" and question.identifiers:
        subject = question.identifiers[0]
    goals = [
        {"id": aspect, "text": _GOAL_TEXT[aspect].format(subject=subject), "priority": order}
        for order, aspect in enumerate(question.aspects)
    ]
    return {
        "intent": _IMPERATIVE[question.kind].format(subject=subject),
        "asked": str(given.facts["question"]),
        "question": msgspec.to_builtins(question),
        "goals": goals,
        "constraints": [f"only {path}" for path in question.paths],
        "ambiguities": [],
        "goal_dependencies": {},
        "goal_priorities": {goal["id"]: goal["priority"] for goal in goals},
        "confidence": 0.9 if question.identifiers or question.paths else 0.7 if len(question.terms) > 1 else 0.4,
        "clarification_needed": not question.intelligible,
        "clarification_question": None if question.intelligible else _clarification(question),
        "hint_used": given.facts["hint"],
    }


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Goals are added once, in the first round; later visits refine the intent alone."""
    if output.get("clarification_needed"):
        asked = str(output.get("clarification_question") or "What in this repository do you want to know about?")
        return StageResult(output, interrupt=InterruptRequest("clarification", asked))
    if view.goals.goals:
        return StageResult(output)
    added = tuple(
        Goal(GoalId(str(goal["id"])), str(goal["text"]), priority=int(goal.get("priority", 0)))
        for goal in output["goals"]
    )
    return StageResult(output, goals=GoalsPatch(add=added))


def _asked(view: StageView, question: str) -> str:
    """The question, with what the user said when asked back; later visits find it in what intent wrote before."""
    interrupt = view.interrupt
    if interrupt is not None and interrupt.kind == "clarification" and interrupt.response is not None:
        return f"{question} {normalise(interrupt.response.text)}".strip()
    return str(view.outputs.get("intent", {}).get("asked") or question)


def _in_context(question: Question, turns: list[dict[str, Any]]) -> Question:
    """A question that says «it» is about what the last turn of the session was about."""
    if not turns or not question.refers_back:
        return question
    symbols = tuple(turns[-1].get("symbols", ())[:2])
    before = analyse(str(turns[-1].get("question", "")))
    return msgspec.structs.replace(
        question,
        identifiers=symbols or before.identifiers,
        terms=tuple(dict.fromkeys((*question.terms, *before.terms))),
        subject=f"{question.subject} ({symbols[0] if symbols else before.subject})",
    )


def _clarification(question: Question) -> str:
    shown = plain(question.text.strip()[:60])
    return (
        f"I found nothing in '{shown}' that could be looked for in code. "
        "Which function, file, feature or behaviour do you want to know about?"
    )


def _short(text: str, limit: int = 90) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1].rsplit(" ", 1)[0] + "…"
