"""Decides which plans need a person's consent: the planner's policy in the reviewed pipeline.

A plan that would read outside the repository or read secrets is denied; one whose estimated cost exceeds the bound
`max_plan_cost` waits for a person; all others are approved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.handover.perception import perception_of
from actors.capabilities.code_analysis.handover.plan import read_plan
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied, readable_path
from runtime.errors import RepositoryError
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView

MAX_PLAN_COST = 40

_PATH_ARGUMENTS = ("path", "scope")


async def judge(context: StageContext, view: StageView, result: StageResult) -> PolicyVerdict:
    """Return the verdict on a plan. `max_plan_cost` of the context bounds is the highest cost without consent.

    A plan that will be made again is not judged: it is not carried out.
    """
    plan = read_plan("planner", result.output)
    if plan.route == "again":
        return PolicyVerdict("approved")
    steps = plan.steps
    codebase: Codebase = context.services.codebase(perception_of(view).repository)
    refused = await context.run_blocking(_refused, codebase, steps)
    if refused is not None:
        return PolicyVerdict("denied", f"the plan may not be carried out: {refused}")
    cost, bound = plan_cost(steps), view.context_bounds.get("max_plan_cost", MAX_PLAN_COST)
    if cost <= bound:
        return PolicyVerdict("approved")
    return PolicyVerdict(
        "requires_confirmation",
        f"The plan of round {view.goals.round_number} has an estimated cost of {cost}; up to {bound} needs no consent. "
        f"It makes {_calls_in_words(steps)}. May it go ahead?",
    )


def plan_cost(steps: Sequence[Step]) -> int:
    """Sum the costs of all calls that the steps may make, by the costs that `list_tools` gives; 1 is one look-up."""
    costs = _costs()
    return sum(_calls(step) * costs.get(step.tool, 1) for step in steps)


def _costs() -> dict[str, int]:
    return {tool.name: tool.cost for tool in TOOLS if tool.access == "read"}


def _calls(step: Step) -> int:
    return step.count if step.top_of else 1


def _calls_in_words(steps: Sequence[Step]) -> str:
    calls: Counter[str] = Counter()
    for step in steps:
        calls[step.tool] += _calls(step)
    return ", ".join(f"{count} × {tool}" for tool, count in calls.most_common())


def _refused(codebase: Codebase, steps: Sequence[Step]) -> str | None:
    """Return why the plan is denied, or None: a tool that is not read-only, or a path that may not be read."""
    costs = _costs()
    for step in steps:
        if step.tool not in costs:
            return f"step '{step.id}' calls '{step.tool}', which is no tool that reads; there are {', '.join(costs)}"
        for name in _PATH_ARGUMENTS:
            path = step.arguments.get(name)
            if not isinstance(path, str):
                continue
            try:
                readable_path(codebase.root, path, allow_secrets=codebase.allow_secrets)
            except RepositoryError as error:
                if is_denied(error):
                    return f"step '{step.id}': {error.message}"
    return None
