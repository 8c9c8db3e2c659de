"""Answers how a thing is added or extended: «How do I add a new binding?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.plans.searches import LOCATED_PER_STEP, locate
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, wordings
from actors.capabilities.code_analysis.question.listing_scope import OPEN_KINDS

# What is done, ahead of what it is done to.
_EXTENDING = re.compile(
    r"^\W*(?:please\s+)?(?:how\s+(?:do|can|would|could|should|to|does)\s+)?(?:(?:i|you|we|one|someone|to)\s+)*"
    r"(?:(?:add|extend|register|write|create|plug in|plug|implement|define|make|introduce|build)\s+)+"
    r"(?:(?:a|an|the|my|our|own|new|another|custom|additional|further|support|for|different)\s+)*",
    re.IGNORECASE,
)
_ALWAYS = re.compile("")


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, with searches for the thing that is extended and for types that are open."""
    question, goals = request.question, tuple(request.goals.values())
    searches = [
        locate("thing", "find", question.subject, goals, LOCATED_PER_STEP),
        locate("open", "find", question.subject, goals, LOCATED_PER_STEP, OPEN_KINDS),
    ]
    return steps_by_aspect(request, searches=searches if question.deed_terms else ())


KIND = QuestionKind(
    name="extend",
    wordings=wordings(
        700,
        r"\bhow (?:do|can|would|could|should|to) .{0,20}(?:add|extend|register|write|create|plug|implement)\b",
        r"^\W*(?:add|extend|register) (?:a|an|my|new)\b|\bhow to (?:add|extend|register)\b",
    ),
    aspects=("definition", "mechanism", "usage", "tests"),
    added=("usage",),
    lead_in=_EXTENDING,
    guidance=_ALWAYS,
    imperative="Show how to extend {subject}",
    plan=plan,
)
