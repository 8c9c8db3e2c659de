"""Defines the output of the planner: steps, the goals they target, and a feasibility score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from actors.capabilities.code_analysis.evidence.steps import Step, with_purposes
from actors.capabilities.code_analysis.handover.reading import missing, read
from runtime.run.stage_view import StageView


class PlanOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of a planner. `groups` are sets of dependent steps; different groups may run in parallel.

    `route`: whether the plan is made once more. `tries`: the number of this attempt at the pass's plan, from 1.
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
    """Read a planner's output; steps without a purpose get the one derived from their id or tool."""
    groups = fields.get("groups", [])
    with_theirs = [with_purposes(group) for group in groups] if isinstance(groups, list | tuple) else groups
    return read(agent, {**fields, "steps": with_purposes(fields.get("steps")), "groups": with_theirs}, PlanOutput)


def plan_if_any(view: StageView, key: str = "planner") -> PlanOutput | None:
    """Return the plan under `key`, by default the one that is carried out; None before it is made."""
    fields = view.outputs.get(key)
    return None if fields is None else read_plan(key, fields)


def plan_of(view: StageView) -> PlanOutput:
    """Return the plan that is carried out; raise HandoverError when it is missing."""
    plan = plan_if_any(view)
    if plan is None:
        raise missing(view, "planner")
    return plan


def group_of(item: object) -> list[Step]:
    """Read the steps of one group from an item of a fan-out."""
    return read("planner", with_purposes(item), list[Step])
