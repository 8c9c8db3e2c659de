"""Holds the rule of each duty of a phase: what is wrong with a submission, what it changes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from runtime.contracts.commit_messages import plain_message, problems_of_message
from runtime.contracts.contract import Contract, Duty, PhaseRule
from runtime.contracts.exploring_duties import (
    explored,
    hypotheses_checked,
    impact_told,
    query_framed,
    question_answered,
    rules_found,
)
from runtime.contracts.obeyed_files import OBEYED, obeyed
from runtime.contracts.observations import MAX_NAMED, NEW_UNASKED, Effect, Observed, Outcome
from runtime.contracts.payloads import problems_in
from runtime.contracts.phase_order import has_trait
from runtime.contracts.session_state import SessionState
from runtime.contracts.shared_evidence import SKIPPED, UNCLAIMED, doubts_of, is_all_skipped, skips_of, unclaimed
from runtime.contracts.task_lists import is_repeat, registered, reported, with_failures, without_failures

Demand = Literal["evidence", "diff", "checks", "bands", "head", "tests", "proofs", "review"]
DOUBTFUL = "accepted, and review_changes shows it to whoever reviews: "
FORCED = "forced_completion: quality review was cut short after too many reverts; these issues stay: "
MAX_ISSUES_CHARS = 1_000
PLANNED = (
    "tasks: the list is registered and cannot be changed in this step; {next}. An item that turned out wrong is "
    "reported as skipped with the reason; what is missing is named where the change is verified (passed: false) or "
    "reviewed (issues), which leads back to the plan"
)
LEFT_BEHIND = (
    "files: delete what a test or a build left, or have `.gitignore` name it, which is then part of the change; ask "
    "check_write_target for what belongs to it"
)
EDITED_SINCE = (
    "changed after review_changes had told the difference; call it again, read what it shows now, then submit again"
)


class DutyRule(NamedTuple):
    """Pairs a rule with what it must be told of the outside."""

    rule: Callable[[Contract, SessionState, Mapping[str, Any], Observed], Outcome]
    demands: frozenset[Demand] = frozenset()


def _nothing(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    return Outcome(state)


def _branches(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    effect = Effect("branches", choice=payload["choice"], branches=state.stale_branches)
    return Outcome(state.with_(stale_branches=()), effects=(effect,))


def _plan(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = registered(state, payload["tasks"], contract.limits)
    if isinstance(tasks, list):
        return Outcome(state, tasks)
    has_branch = state.place is not None and bool(state.place.branch)
    wants_branch = not has_branch and not has_trait(contract, state.flags, "no_branch")
    effects = (Effect("branch"),) if wants_branch else ()
    return Outcome(state.with_(tasks=tasks, revert_reason=""), effects=effects)


def is_repeated_plan(contract: Contract, state: SessionState, rule: PhaseRule, payload: object) -> bool:
    """Return whether a submission is the task list that is registered already, sent again."""
    if rule.duty not in {"implement", "finish"} or not isinstance(payload, Mapping) or "tasks" not in payload:
        return False
    plan = next((phase for phase in contract.phases.values() if phase.duty == "plan"), None)
    if plan is None or problems_in(payload, plan.expected_payload):
        return False
    return is_repeat(state, payload["tasks"], contract.limits)


def why_no_plan(state: SessionState, rule: PhaseRule, payload: object) -> list[str]:
    """Return what to do instead where another task list is sent after the plan was registered; empty where none is."""
    if rule.duty not in {"implement", "finish"} or not isinstance(payload, Mapping) or "tasks" not in payload:
        return []
    waiting = state.open_tasks
    return [PLANNED.format(next=f"report on '{waiting[0].id}'" if waiting else "submit the summary")]


def _implement(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = reported(state, payload, observed.refuted, contract.limits, observed.proofs)
    if isinstance(tasks, list):
        return Outcome(state, tasks)
    known = set(doubts_of(state.tasks))
    new = [doubt for doubt in doubts_of(tasks) if doubt not in known]
    skips_all = any(is_all_skipped(task) for task in tasks if task.id == payload["task_id"])
    if skips_all and (left := unclaimed(tasks, observed.changed)):
        new.append(left)
    return Outcome(state.with_(tasks=tasks), notes=tuple(f"{DOUBTFUL}{doubt}" for doubt in new))


def _with_unclaimed(state: SessionState, observed: Observed) -> SessionState:
    """Return the state with warnings, as of now: of files that no item is about or that are obeyed, and of skips."""
    told = [unclaimed(state.tasks, observed.changed), skips_of(state.tasks)] if state.tasks else []
    told.append(obeyed(observed.changed))
    warnings = [warning for warning in state.warnings if not warning.startswith((UNCLAIMED, SKIPPED, OBEYED))]
    return state.with_(warnings=(*warnings, *filter(None, told)))


def is_demanded(rule: PhaseRule, payload: Mapping[str, Any]) -> bool:
    """Return whether a phase's tools are demanded of this submission: not where nothing was written."""
    if rule.duty != "implement":
        return True
    checklist = payload.get("checklist")
    return any(entry.get("status") == "done" for entry in checklist) if isinstance(checklist, list) else True


def _finish(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    open_ = [task.id for task in state.open_tasks]
    problems = [f"tasks: still open: {', '.join(open_[:MAX_NAMED])}"] if open_ else []
    return Outcome(_with_unclaimed(state, observed), [*problems, *_unpermitted(observed)])


def _unpermitted(observed: Observed) -> list[str]:
    found = observed.unpermitted
    told = [f"files: {file} was changed, but {why}" for file, why in list(found.items())[:MAX_NAMED]]
    told += [f"files: and {len(found) - MAX_NAMED} more"] if len(found) > MAX_NAMED else []
    return [*told, LEFT_BEHIND] if NEW_UNASKED in found.values() else told


def _verify(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    failed = list(payload.get("failed_tasks") or ())
    if payload["passed"]:
        problems = ["failed_tasks: tasks are named although it passed"] if failed else []
        return Outcome(state, problems, notes=_own_verdict(contract, state, observed))
    problems = [f"failed_tasks: no task is registered as '{name}'" for name in failed if state.task(name) is None]
    tasks = with_failures(state.tasks, failed)
    named = tuple(failed) or tuple(task.id for task in state.tasks)
    # Where a flag ends the session here whichever way, nothing else will say how it went.
    ends = (contract.flags[flag].ends_after for flag in state.flags if flag in contract.flags)
    outcome = "verification_failed" if state.phase in ends else state.outcome
    changed = state.with_(
        tasks=tasks,
        failed_tasks=named,
        revert_reason=payload["details"],
        outcome=outcome,
        verify_failures=state.verify_failures + 1,
    )
    return Outcome(changed, problems, has_failed=True)


def _own_verdict(contract: Contract, state: SessionState, observed: Observed) -> tuple[str, ...]:
    if observed.checks:
        return ()
    if observed.tree and observed.tree in state.checked.values():
        return ("the operator's commands passed on exactly these files at an earlier step and were not run again",)
    if any(rule.checks for rule in contract.phases.values()):
        return ("no command of the operator had to be run here: this verdict is the agent's own",)
    return ("the operator named no commands to be run: this verdict is the agent's own",)


def _intervene(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    tasks = without_failures(state.tasks)
    return Outcome(state.with_(interventions=state.interventions + 1, tasks=tasks, verify_failures=0))


def _commit(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    unseen = [file for file in observed.changed if file not in payload["reviewed_files"]]
    problems = [f"reviewed_files: {file} was changed and not reviewed" for file in unseen[:MAX_NAMED]]
    if not observed.changed:
        problems.append(
            "files: nothing was changed, so there is nothing to commit; if the request needs no change, say so to the "
            f"person, who ends the session with `jeeves runs cancel {state.session_id}`"
        )
    problems += [*_unpermitted(observed), *problems_of_message(payload["commit_message"])]
    if observed.unreviewed:
        listed = ", ".join(observed.unreviewed[:MAX_NAMED])
        problems.append(f"files: {listed} {EDITED_SINCE}")
    effect = Effect("commit", message=plain_message(payload["commit_message"]), tree=observed.tree or observed.present)
    return Outcome(_with_unclaimed(state, observed).with_(reviewed=""), problems, effects=(effect,))


def _quality(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    issues = [str(issue) for issue in payload["issues"]]
    state = state.with_(reviewed=observed.head)
    lost = tuple(filter(None, (observed.tests, observed.hollow)))
    if not issues:
        return Outcome(state, notes=(*_own_verdict(contract, state, observed), *lost))
    reverts = state.quality_reverts + 1
    changed = state.with_(quality_reverts=reverts, revert_reason="quality review found: " + "; ".join(issues))
    if reverts < contract.limits.quality_reverts:
        return Outcome(changed, has_issues=True)
    warning = f"{FORCED}{'; '.join(issues)}"[:MAX_ISSUES_CHARS]
    return Outcome(changed.with_(warnings=(*state.warnings, warning)), notes=(warning,), has_issues=True)


def _merge(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    lost = tuple(filter(None, (observed.tests, observed.hollow)))
    merged = Outcome(state, notes=lost, effects=(Effect("merge", head=observed.head if observed.tree else ""),))
    looks_again = any(exit_.when == "moved_since_review" for exit_ in contract.phases[state.phase].exits)
    # Without a quality review what was looked at is the session's own commit.
    known = state.reviewed or (state.place.head if state.place is not None else "")
    if not looks_again or not known or observed.head in {"", known}:
        return merged
    said = f"the branch has commits that were made after the review of {known[:12]}"
    reverts = state.quality_reverts + 1
    if reverts > contract.limits.quality_reverts:
        warning = f"{said}, which nobody reviewed"
        return merged._replace(state=state.with_(warnings=(*state.warnings, warning)), notes=(*lost, warning))
    return Outcome(state.with_(quality_reverts=reverts), notes=(f"{said}; review them too",), has_moved=True)


DUTIES: Mapping[Duty, DutyRule] = {
    "": DutyRule(_nothing),
    "branches": DutyRule(_branches),
    "rules": DutyRule(rules_found),
    "frame": DutyRule(query_framed, frozenset({"bands"})),
    "explore": DutyRule(explored),
    "question": DutyRule(question_answered),
    "hypotheses": DutyRule(hypotheses_checked),
    "impact": DutyRule(impact_told),
    "plan": DutyRule(_plan),
    "implement": DutyRule(_implement, frozenset({"evidence"})),
    "finish": DutyRule(_finish, frozenset({"diff", "checks", "proofs"})),
    "verify": DutyRule(_verify, frozenset({"checks", "proofs"})),
    "intervene": DutyRule(_intervene),
    "commit": DutyRule(_commit, frozenset({"diff", "checks", "proofs", "review"})),
    "quality": DutyRule(_quality, frozenset({"head", "checks", "tests"})),
    "merge": DutyRule(_merge, frozenset({"head", "checks", "tests", "proofs"})),
}
