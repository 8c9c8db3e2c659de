"""Chooses the next action of a fix by rules, without a model. Pure and deterministic.

Which refactoring can bring a violation within its limit is a table by check. What no rule can mend is handed over with
the reason, not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from actors.capabilities.violation_fix.policies.refactoring_rules import (
    GiveUp,
    PlanningOptions,
    Proposal,
    next_refactoring,
)
from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.complexity import Limits
from runtime.context.models import AgentResponse

# The measures of a function that each check is about.
GOALS: Mapping[str, frozenset[str]] = {
    "C901": frozenset({"complexity"}),
    "PLR0912": frozenset({"branches"}),
    "PLR0915": frozenset({"statements"}),
    "PLR0911": frozenset({"returns"}),
    "PLR0913": frozenset({"arguments"}),
}


class Situation(NamedTuple):
    """Holds what the rules look at: the phase, the violation, the file as it is now, and what was tried."""

    phase: str
    check_id: str
    symbol: str
    source: str
    limits: Limits
    line_length: int
    has_safe_fix: bool
    is_ready: bool
    checks_known: bool
    checks_failing: int
    plan: str | None
    allowed: Collection[str]
    tried: Collection[Mapping[str, Any]]
    typing: TypingRules | None = None
    file: str = ""
    function_lines: tuple[int, int] | None = None


def choose(seen: Situation) -> AgentResponse:
    """Return the next action."""
    chosen = _BY_PHASE.get(seen.phase, _implement)(seen)
    if chosen.action in seen.allowed:
        return chosen
    return AgentResponse(
        action="cannot_fix",
        parameters={"reason": f"the rules would {chosen.action} next, which is not allowed in phase {seen.phase}"},
    )


def _verify(seen: Situation) -> AgentResponse:
    if seen.is_ready:
        return AgentResponse(action="complete", reasoning="the checks and all tests pass")
    if not seen.checks_known or seen.checks_failing:
        return AgentResponse(action="run_check", reasoning="the file has to pass its checks")
    return AgentResponse(action="run_tests", reasoning="the checks pass; all tests have to, too")


def _implement(seen: Situation) -> AgentResponse:
    if seen.has_safe_fix:
        if any(each["action"] == "apply_safe_fix" for each in seen.tried):
            return _give_up("the linter's own fix was not possible here")
        return AgentResponse(
            action="apply_safe_fix",
            parameters={"check_id": seen.check_id},
            reasoning="the linter has a safe fix of its own",
        )
    goals = GOALS.get(seen.check_id)
    if goals is None or not seen.symbol:
        return _give_up(f"no rule mends {seen.check_id}")
    keys = {key for each in seen.tried if (key := _key_of(each)) is not None}
    options = PlanningOptions(line_length=seen.line_length, goals=goals, typing=seen.typing)
    proposal = next_refactoring(seen.source, seen.symbol, seen.limits, keys, options)
    if isinstance(proposal, GiveUp):
        return _give_up(proposal.reason, "escalate" if proposal.code == "escalate" else "cannot_fix")
    parameters: dict[str, Any] = dict(proposal.parameters)
    if isinstance(names := parameters.get("names"), str):
        parameters["names"] = names.split(",")
    return AgentResponse(action=proposal.action, parameters=parameters, reasoning=proposal.suggestion[:1_000])


def _plan(seen: Situation) -> AgentResponse:
    what = seen.symbol or seen.check_id
    plan = f"no first step was found for {what}: look for a sequence of refactorings, else hand it to a person"
    return AgentResponse(action="record_plan", parameters={"plan": plan})


def _look_up(seen: Situation) -> AgentResponse:
    if seen.symbol:
        return AgentResponse(action="load_context", parameters={"symbol": seen.symbol.rsplit(".", 1)[-1]})
    return _give_up(f"no rule mends {seen.check_id}")


def _read(seen: Situation) -> AgentResponse:
    if seen.function_lines is None or not seen.file:
        return _look_up(seen)
    first, last = seen.function_lines
    return AgentResponse(action="read_file", parameters={"path": seen.file, "start_line": first, "end_line": last})


def _give_up(reason: str, action: str = "cannot_fix") -> AgentResponse:
    return AgentResponse(action=action, parameters={"reason": reason})


def _key_of(tried: Mapping[str, Any]) -> str | None:
    """Return the key by which the planner knows a proposal; None for an edit that was none."""
    parameters = tried.get("parameters", {})
    if "function" not in parameters:
        return None
    return Proposal(str(tried["action"]), parameters, "").key


_BY_PHASE: Mapping[str, Callable[[Situation], AgentResponse]] = {
    "init": _look_up,
    "analyze": _read,
    "plan": _plan,
    "implement": _implement,
    "verify": _verify,
}
