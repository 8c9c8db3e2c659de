"""Says what a thing is and does: «What is `Lease`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind, wordings

KIND = QuestionKind(
    name="what",
    meaning="what a thing is",
    wordings=wordings(1500, r"^\W*what\b|^\W*who\b|^\W*which\b"),
    aspects=("definition", "mechanism", "usage"),
    added=("definition", "mechanism"),
    follows_delegate=True,
    imperative="Say what {subject} is and does",
    plan=steps_by_aspect,
)
