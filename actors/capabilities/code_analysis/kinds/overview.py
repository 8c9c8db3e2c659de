"""Describes a repository or folder as a whole: «What is this project?», «How is `src/net` built?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.overview import overview_claims
from actors.capabilities.code_analysis.answers.wording import module_claims
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, Wording
from actors.capabilities.code_analysis.question.overview_wording import (
    draws,
    focus_of,
    folders_named,
    is_overview,
)


def _plan(request: PlanRequest) -> list[Step]:
    """Build the steps that describe what the question names, or all; later passes map all and read the README."""
    goal = request.goals.get("structure")
    if goal is None:
        return steps_by_aspect(request)
    named = folders_named(request.question.whole or request.question.text)
    described = [
        Step(f"describe{number}", "structure", "describe_folder", {"path": path}, (goal,), f"what {path} is")
        for number, path in enumerate(named or (".",))
    ]
    return described if named or request.pass_number == 1 else [*described, *steps_by_aspect(request)]


def _structure(evidence: Evidence) -> list[Claim]:
    """Return what was described; without that, what the README says, and the modules."""
    question = evidence.question
    found = overview_claims(evidence.facts, focus_of(question.whole or question.text), draws=question.draws_parts)
    return found or module_claims(evidence.of("module"), evidence.of("code"))


def _always(question: Question) -> bool:
    """Return True: what the whole question is about is not searched for by its words."""
    return True


KIND = QuestionKind(
    name="overview",
    meaning="the repository as a whole",
    wordings=(Wording(100, is_overview),),
    aspects=("structure",),
    asks_relations=_always,
    needs_no_subject=True,
    draws_parts=draws,
    imperative="Describe the repository",
    usual_confidence=0.3,
    plan=_plan,
    writers={"structure": _structure},
)
