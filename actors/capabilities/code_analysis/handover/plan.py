"""What the planner hands on: steps, the goals that they aim at, and how likely they are to find something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from actors.capabilities.code_analysis.evidence.steps import Step, with_purposes
from actors.capabilities.code_analysis.handover.reading import missing, read
from runtime.run.stage_view import StageView


class PlanOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a planner. `groups` are the steps that build on one another, which may run side by side.

    `route`: whether the plan is made once more; `tries`: which try of this pass it is, from 1.
    """

    steps: list[Step]
    target_goals: list[str]
    plan_id: str = ""
    rationale: str = ""
    stage_number: int = 0
    feasibility_score: int = 0
    risk_factors: list[str] = []
    groups: list[list[Step]] = []
    route: Literal["again", "go_on"] = "go_on"
    tries: int = 1
    shown: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


def read_plan(agent: str, fields: Mapping[str, Any]) -> PlanOutput:
    """A plan as a planner wrote it; steps without a purpose get that of their ids or tools."""
    groups = fields.get("groups", [])
    with_theirs = [with_purposes(group) for group in groups] if isinstance(groups, list | tuple) else groups
    return read(agent, {**fields, "steps": with_purposes(fields.get("steps")), "groups": with_theirs}, PlanOutput)


def plan_if_any(view: StageView, key: str = "planner") -> PlanOutput | None:
    """The plan that is carried out, None before it is made; `key`: another planner's."""
    fields = view.outputs.get(key)
    return None if fields is None else read_plan(key, fields)


def plan_of(view: StageView) -> PlanOutput:
    """The plan that is carried out; HandoverError without it."""
    plan = plan_if_any(view)
    if plan is None:
        raise missing(view, "planner")
    return plan


def group_of(item: object) -> list[Step]:
    """The steps of one group, as a fan-out hands them on."""
    return read("planner", with_purposes(item), list[Step])
