"""Builds the steps that ask git: commits that changed a thing, and files that change with it."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.searches import MAX_NAMED
from actors.capabilities.code_analysis.question.kinds import PlanRequest, kind_of

MAX_TOGETHER = 50


def history_steps(request: PlanRequest, found_by: tuple[str, ...]) -> list[Step]:
    """Build steps for the commits of the question's paths and entities, and for files that change with them."""
    question, goals = request.question, request.goals
    kind = kind_of(question)
    steps: list[Step] = []
    paths = () if question.identifiers else question.paths[:MAX_NAMED]
    if "history" in goals:
        goal, origin = (goals["history"],), {"origin": True} if question.asks_for_origin else {}
        places = (".",) if question.is_of_whole else paths
        steps += [
            Step(f"history{n}", "history", "explain_code_history", {"path": path}, goal, f"who changed {path}")
            for n, path in enumerate(places)
        ]
        if not places:
            why, symbol = "who changed the best place", {"path": "file", "symbol": "name", "start_line": "start_line"}
            count = kind.histories if question.identifiers else 1
            best = Step("history", "history", "explain_code_history", origin, goal, why, found_by, count, symbol)
            steps.append(msgspec.structs.replace(best, named_only=not kind.history_of_any))
    if "together" in goals:
        goal, more = (goals["together"],), {"max_results": MAX_TOGETHER}
        steps += [
            Step(f"together{n}", "together", "find_related", {"path": path, **more}, goal, f"what changes with {path}")
            for n, path in enumerate(paths)
        ]
        if not paths:
            why, file = "what changes with the best place", {"path": "file"}
            best = Step("together", "together", "find_related", more, goal, why, found_by, 1, file)
            steps.append(msgspec.structs.replace(best, named_only=True))
    return steps
