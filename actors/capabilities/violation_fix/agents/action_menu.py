"""Defines the actions of a fix: available, recommended and blocked ones at a step. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.violation_fix.agents.fix_state import FixState
from runtime.context.models import ActionDef, ActionsSpec, Analysis, BlockedAction

EDITING = ("init", "analyze", "implement")

ACTIONS: tuple[ActionDef, ...] = (
    ActionDef(
        name="extract_function",
        description="move whole statements of the function to a new one",
        parameters={"start_line": "integer", "end_line": "integer", "name": "string"},
        preconditions=("a range of the analysis, or whole statements that no return or break leaves",),
        postconditions=("checks and affected tests run by themselves; what breaks one is taken back",),
        phases=("implement",),
        priority=10,
    ),
    ActionDef(
        name="simplify_conditional",
        description="join, invert or flatten a conditional",
        parameters={"line": "integer", "kind": "string?"},
        preconditions=("the line begins an if",),
        phases=("implement",),
        priority=8,
    ),
    ActionDef(
        name="split_parameters",
        description="gather consecutive parameters of a private function whose callers all lie in the file",
        parameters={"function": "string", "names": "list"},
        phases=("implement",),
        priority=7,
    ),
    ActionDef(
        name="apply_safe_fix",
        description="let the linter apply its own safe fix of this violation",
        parameters={"check_id": "string"},
        phases=("implement",),
        priority=9,
    ),
    ActionDef(name="run_check", description="check the file", phases=("implement", "verify"), priority=5),
    ActionDef(
        name="write_file",
        description="write the whole file",
        parameters={"text": "string"},
        phases=("implement",),
        priority=4,
    ),
    ActionDef(
        name="replace_lines",
        description="replace lines, both included",
        parameters={"start_line": "integer", "end_line": "integer", "text": "string"},
        phases=("implement",),
        priority=3,
    ),
    ActionDef(
        name="edit_file",
        description="replace a quotation that occurs once",
        parameters={"old": "string", "new": "string"},
        phases=("implement",),
        priority=2,
    ),
    ActionDef(name="complete", description="end the fix as done", phases=("verify",), priority=11),
    ActionDef(name="run_tests", description="run all tests", phases=("verify",), priority=9),
    ActionDef(
        name="read_file",
        description="read lines of a file",
        parameters={"path": "string", "start_line": "integer?", "end_line": "integer?"},
        phases=EDITING,
    ),
    ActionDef(
        name="load_context",
        description="find the definition of a name",
        parameters={"symbol": "string"},
        phases=("init", "analyze"),
    ),
    ActionDef(
        name="record_plan",
        description="record how to go on",
        parameters={"plan": "string"},
        phases=("plan",),
        priority=1,
    ),
    ActionDef(name="escalate", description="hand over to a person", parameters={"reason": "string"}),
    ActionDef(name="cannot_fix", description="give up, with the reason", parameters={"reason": "string"}),
)

BY_NAME: Mapping[str, ActionDef] = {action.name: action for action in ACTIONS}
_PRIORITY_IN = {("run_check", "verify"): 10}
ENDING = frozenset({"complete", "escalate", "cannot_fix"})


def menu(state: FixState, analysis: Analysis, offered: Sequence[str] = tuple(BY_NAME)) -> ActionsSpec:
    """Return the actions of the phase, highest priority first, with the recommended one and those that are blocked."""
    phase = state.phase.current_phase
    here = [
        action for name, action in BY_NAME.items() if name in offered and (not action.phases or phase in action.phases)
    ]
    ranked = [action.changed(priority=_PRIORITY_IN.get((action.name, phase), action.priority)) for action in here]
    available = tuple(sorted(ranked, key=lambda action: -action.priority))
    names = [action.name for action in available]
    warning = state.budget.warning
    is_all = warning is not None and warning.is_blocking and warning.parameters is None
    blocked = {warning.action: warning.reason} if warning is not None and is_all and warning.action in names else {}
    if "complete" in names and not state.verification.ready_for_completion:
        blocked["complete"] = _not_ready(state)
    return ActionsSpec(
        available=available,
        recommended=_recommended(state, analysis, [name for name in names if name not in blocked]),
        blocked=tuple(BlockedAction(action=name, reason=why) for name, why in blocked.items()),
    )


def _recommended(state: FixState, analysis: Analysis, allowed: Sequence[str]) -> str | None:
    phase = state.phase.current_phase
    if phase == "implement" and not state.files_modified and analysis.extraction_suggestions:
        return "extract_function" if "extract_function" in allowed else None
    if phase != "verify":
        return None
    if state.verification.ready_for_completion and "complete" in allowed:
        return "complete"
    checks_known = state.verification.checks_passing + state.verification.checks_failing > 0
    wanted = "run_tests" if checks_known and not state.verification.checks_failing else "run_check"
    return wanted if wanted in allowed else None


def _not_ready(state: FixState) -> str:
    if state.verification.checks_failing:
        return f"{state.verification.checks_failing} checks fail"
    if not state.verification.checks_passing:
        return "no check has passed since the last edit"
    return "all tests have not passed since the last edit"
