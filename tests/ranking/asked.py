"""Asks the questions of cases by the searches of a first round, as the rules do."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from actors.capabilities.code_analysis.agents.planner import plan_steps
from actors.capabilities.code_analysis.evidence.facts import CodeFact, distinct, facts_of
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.presence.absence import Absence
from runtime.codebase.tools.locate import locate
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.ranking.cases import Case

GOAL = Goal(GoalId("answer"), "what is asked")


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds what the searches of the first round found for a case."""

    case: Case
    question: Question
    facts: list[CodeFact]
    absence: Absence


def ask(case: Case, codebase: Codebase) -> Asked:
    """Search for a question in words as the first round does."""
    question = analyse(case.question)
    steps = [step for step in plan_steps(question, [GOAL], 1) if step.tool == "locate" and not step.top_of]
    results = [(step, locate(codebase, **step.arguments)) for step in steps]
    facts = distinct(fact for step, result in results for fact in facts_of(step, result))
    found: object = next((result.data["absence"] for _, result in results if "absence" in result.data), {})
    return Asked(case, question, facts, msgspec.convert(found, Absence))
