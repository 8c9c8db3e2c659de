"""Explains how a thing works, or how something is done: «How are passwords hashed?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, wordings

_HOW_TO = re.compile(r"^\W*how (?:(?:do|can|could|should|would|must) (?:i|you|we|one|users?)|to)\b", re.IGNORECASE)


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, and read what the best place passes its work on to."""
    return steps_by_aspect(request, follows_delegate=True)


KIND = QuestionKind(
    name="how",
    wordings=wordings(1400, r"\bhow\b|\bexplain\b|\bdescribe\b|\bmechanism\b"),
    is_default=True,
    aspects=("definition", "mechanism", "usage"),
    added=("mechanism",),
    guidance=_HOW_TO,
    imperative="Explain {subject}",
    plan=plan,
)
