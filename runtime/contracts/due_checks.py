"""Decides which of a contract's commands must run before a submission is believed. Pure.

Each phase's commands count for the tree of files that they last passed on. Nothing is committed or merged before the
commands of all phases up to there have passed on exactly that tree, whether or not a flag left their phases out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.contracts.contract import END, CheckCommand, Contract
from runtime.contracts.observations import MAX_NAMED, CheckResult, Observed, Outcome
from runtime.contracts.phase_order import columns, next_phase, skipped
from runtime.contracts.session_state import SessionState
from runtime.contracts.task_lists import with_failures

CHECK_FAILS = "check '"
MENDED = "take the edits back, or commit them on the branch"
TOUCHED = "written while the operator's checks ran, and as they were again behind them: "
REPEATED = (
    "what the checks passed on need not be what is there, so before the next commit or merge they are run again. Tell "
    "the person which command writes these files, if one does"
)
UNSTABLE = (
    "files changed while the checks ran, so that nothing says whether they pass on what is there now; if a check "
    "writes files, have them ignored by git; then submit again"
)


def has_checks(contract: Contract) -> bool:
    """Return whether a contract names any command to be run."""
    return any(rule.checks for rule in contract.phases.values())


def checks_left_out(contract: Contract, state: SessionState) -> str | None:
    """Return what to say where a session's flags leave out phases that name commands; None where none does.

    A session that only looks has nothing to be checked.
    """
    passes = columns(contract, state.intent, state.flags)
    writes = any(passes[key] for key, rule in contract.phases.items() if rule.duty == "finish")
    left_out = [key for key, rule in contract.phases.items() if rule.checks and not passes[key]]
    if not left_out or not writes:
        return None
    names = ", ".join(dict.fromkeys(check.name for key in left_out for check in contract.phases[key].checks))
    listed = ", ".join(left_out)
    return f"{listed} is left out; its checks ({names}) are run all the same before anything is committed or merged"


def due_checks(
    contract: Contract, state: SessionState, payload: Mapping[str, Any], tree: str
) -> dict[str, tuple[CheckCommand, ...]]:
    """Return the commands to be run with a submission, by the phase that names them; empty where none is.

    `tree`: the files that are to be judged, as git's hash; empty where the session has no branch.
    """
    if state.phase not in contract.phases or _admits_failure(payload):
        return {}
    rule = contract.phases[state.phase]
    last = _last_step(contract, state)
    due = {}
    for key in contract.order:
        named = contract.phases[key]
        is_own = key == state.phase and rule.duty in {"verify", "quality"}
        has_passed = bool(tree) and state.checked.get(key) == tree
        if named.checks and named.step <= last and (is_own or not has_passed):
            due[key] = named.checks
    return due


def _admits_failure(payload: Mapping[str, Any]) -> bool:
    return payload.get("passed") is False or bool(payload.get("issues"))


def _last_step(contract: Contract, state: SessionState) -> int:
    """Return the step up to which a phase answers for the commands of phases; 0 for a phase that believes nothing."""
    rule = contract.phases[state.phase]
    if rule.duty in {"verify", "commit", "quality"}:
        return rule.step
    if rule.duty == "merge":
        return 99
    ends_here = rule.duty == "finish" and next_phase(contract, state, lambda condition: False) == END
    if not ends_here:
        return 0
    left_out = skipped(contract, state)
    return max((contract.phases[key].step for key in left_out if contract.phases[key].duty == "verify"), default=0)


def after_checks(contract: Contract, outcome: Outcome, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    """Return an outcome with what the commands of the contract make of it.

    A good verdict beside a failing command is refused. What fails where it would be committed or merged leads back to
    the plan and counts as a failed verification, unless the contract has no such way: then it is refused as well.
    """
    failed = [check for check in observed.checks if not check.passed]
    if _admits_failure(payload):
        return outcome
    if observed.checks and not failed and observed.is_stable:
        return _passed(contract, outcome, payload, observed)
    if outcome.has_moved and not failed:
        # It is looked at again before it is merged.
        return outcome
    rule = contract.phases[outcome.state.phase]
    is_gate = rule.duty in {"commit", "merge"}
    if observed.unjudged:
        problems = [f"{CHECK_FAILS}{check.name}' fails on it: {check.output}" for check in failed]
        return outcome._replace(problems=(*outcome.problems, observed.unjudged, *problems))
    if is_gate and failed and any(exit_.when == "verification_failed" for exit_ in rule.exits):
        return outcome if outcome.problems else _sent_back(outcome, failed[0])
    problems = [f"{CHECK_FAILS}{check.name}' fails, so this cannot have passed: {check.output}" for check in failed]
    if observed.uncommitted:
        listed = ", ".join(observed.uncommitted[:MAX_NAMED])
        problems.append(f"files: {listed} differ from what is committed, which is judged and merged; {MENDED}")
    is_unstable = bool(observed.checks) and not failed
    problems += [UNSTABLE] if is_unstable and is_gate else []
    notes = (UNSTABLE,) if is_unstable and not is_gate else ()
    return outcome._replace(problems=(*outcome.problems, *problems), notes=(*outcome.notes, *notes))


def _passed(contract: Contract, outcome: Outcome, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    state = outcome.state
    due = due_checks(contract, state, payload, observed.tree)
    if observed.touched:
        return _doubtful(outcome, observed)
    passed = dict.fromkeys(due, observed.tree) if observed.tree else {}
    names = ", ".join(check.name for check in observed.checks)
    is_gate = contract.phases[state.phase].duty in {"commit", "merge"}
    said = (f"the operator's checks passed on what is there now: {names}",) if is_gate else ()
    return outcome._replace(state=state.with_(checked={**state.checked, **passed}), notes=(*outcome.notes, *said))


def _doubtful(outcome: Outcome, observed: Observed) -> Outcome:
    """Return an outcome whose commands passed while files were written: taken, told to the end, and not remembered."""
    listed = ", ".join(observed.touched[:MAX_NAMED])
    more = f" and {len(observed.touched) - MAX_NAMED} more" if len(observed.touched) > MAX_NAMED else ""
    warnings = [warning for warning in outcome.state.warnings if not warning.startswith(TOUCHED)]
    told = f"{TOUCHED}{listed}{more}; {REPEATED}"
    return outcome._replace(state=outcome.state.with_(warnings=(*warnings, told)), notes=(*outcome.notes, told))


def _sent_back(outcome: Outcome, failed: CheckResult) -> Outcome:
    state = outcome.state
    reason = f"check '{failed.name}' fails on what would be committed or merged: {failed.output}"
    sent_back = state.with_(
        tasks=with_failures(state.tasks, ()),
        failed_tasks=tuple(task.id for task in state.tasks),
        revert_reason=reason,
        verify_failures=state.verify_failures + 1,
    )
    # The instruction of the plan tells the reason in full.
    return Outcome(
        sent_back, notes=(f"check '{failed.name}' fails, so nothing was committed or merged",), has_failed=True
    )
