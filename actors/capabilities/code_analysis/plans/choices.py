"""Builds the step that looks for the closed set of which a question asks all values."""

from __future__ import annotations

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.question.choice_wording import choices_asked
from actors.capabilities.code_analysis.question.kinds import PlanRequest
from actors.capabilities.code_analysis.question.listing_scope import beginning_listed, kinds_listed

# What tells the values: an answer in words, or a list.
_TOLD_BY = ("answer", "listing")


def choice_steps(request: PlanRequest) -> list[Step]:
    """Build the step, if the question asks for all of something that is no kind of code."""
    question = request.question
    goals = tuple(request.goals[aspect] for aspect in _TOLD_BY if aspect in request.goals)
    asked = choices_asked(question.text) if goals else ""
    if not asked or kinds_listed(question) or beginning_listed(question):
        return []
    return [Step("choices", "choices", "find_choices", {"query": asked}, goals, f"all values of '{asked[:60]}'")]
