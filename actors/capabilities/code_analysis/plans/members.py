"""Builds the step that lists what a named type has."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.plans.searches import SYMBOL
from actors.capabilities.code_analysis.question.kinds import PlanRequest


def steps_with_members(request: PlanRequest) -> list[Step]:
    """Build the shared steps, and for a name one that lists what stands in its file."""
    return steps_by_aspect(request, compares=lambda found_by: _member_steps(request, found_by))


def _member_steps(request: PlanRequest, found_by: tuple[str, ...]) -> list[Step]:
    if "definition" not in request.goals or not (request.question.identifiers and request.question.is_of_names):
        return []
    goals, why = (request.goals["definition"],), "what it has"
    step = Step("members", "members", "map_module", {}, goals, why, found_by, 1, SYMBOL)
    return [msgspec.structs.replace(step, named_only=True)]
