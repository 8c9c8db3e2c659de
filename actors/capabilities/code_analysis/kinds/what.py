"""Says what a thing is and does: «What is `Lease`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, wordings


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, and read what the best place passes its work on to."""
    return steps_by_aspect(request, follows_delegate=True)


KIND = QuestionKind(
    name="what",
    wordings=wordings(1500, r"^\W*what\b|^\W*who\b|^\W*which\b"),
    aspects=("definition", "mechanism", "usage"),
    added=("definition", "mechanism"),
    imperative="Say what {subject} is and does",
    plan=plan,
)
