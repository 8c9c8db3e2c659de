"""Answers what a third-party dependency is needed for: «What do we use requests for?».

Which dependency is meant, the metadata files tell; the words of a question only tell that all are asked for.
"""

from __future__ import annotations

from typing import Any

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import THIS_PROJECT, PlanRequest, QuestionKind, wordings

_SORTS = r"(?:librar(?:y|ies)|packages|modules|crates|gems|code|software|components)"
_OWN = rf"(?:it|this|we|you|they|{THIS_PROJECT})"
_NEEDS = r"(?:have|use|need|pull in|require)"
MAX_LISTED = 60


def plan(request: PlanRequest) -> list[Step]:
    """Build the steps, one for each, that read what is declared, and where what is named is imported and used.

    Goals that a model set itself have the steps of any question.
    """
    question, goals = request.question, tuple(request.goals.values())
    if "requirements" not in request.goals:
        return steps_by_aspect(request)
    asked: list[dict[str, Any]] = [{"name": name} for name in question.identifiers] or [{"max_results": MAX_LISTED}]
    return [
        Step(f"needed{number or ''}", "requirements", "find_dependency", given, goals, "where it is declared and used")
        for number, given in enumerate(asked)
    ]


KIND = QuestionKind(
    name="third_party",
    meaning="a third-party dependency, or all of them",
    wordings=wordings(
        290,
        r"^\W*(?:please )?(?:list|show|name|what|which)\b(?: are)?(?: all| the| of| our| its| direct| runtime| optional"
        rf"| development| dev| external| third[- ]party)* (?:dependencies|third[- ]party {_SORTS}|external {_SORTS})"
        rf"(?: (?:are there|exist|(?:does|do) {_OWN} {_NEEDS}|are (?:used|needed|required|declared)"
        rf"|(?:of|in|for) {_OWN}|{_OWN} (?:has|have|uses?|needs?)))?\W*$",
        rf"^\W*(?:what|which) {_SORTS} (?:does|do) {_OWN} (?:use|need|depend on|rely on|pull in|require)\W*$",
        rf"^\W*what (?:else )?(?:does|do) {_OWN} depend on\W*$",
    ),
    aspects=("requirements",),
    asks_relations=lambda question: True,
    of_requirements=True,
    usual_confidence=0.8,
    imperative="Tell where {subject} is declared and used",
    plan=plan,
)
