"""Says what a thing is and does: «What is `Lease`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.named_types.named_type import what_it_has, what_it_is
from actors.capabilities.code_analysis.plans.members import steps_with_members
from actors.capabilities.code_analysis.question.kinds import QuestionKind, wordings

KIND = QuestionKind(
    name="what",
    meaning="what a thing is",
    wordings=wordings(1500, r"^\W*what\b|^\W*who\b|^\W*which\b"),
    aspects=("definition", "mechanism", "usage"),
    added=("definition", "mechanism"),
    follows_delegate=True,
    named_by_words="definitions alone",
    imperative="Say what {subject} is and does",
    writers={"definition": what_it_is, "mechanism": what_it_has},
    plan=steps_with_members,
)
