"""Ends a fix: shows its diff, commits it on the branch of all fixes, and reports.

The user's folder is not touched. A commit that was made before a kill is found and not made twice.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actors.capabilities.violation_fix.agents.fix_state import (
    GONE,
    Ending,
    FixReport,
    FixState,
    FixTask,
    plain,
    state_of,
    task_of,
)
from actors.capabilities.violation_fix.agents.services import Services
from actors.capabilities.violation_fix.checks.violation import Violation
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.git.commits import commit_change
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.side_branches import close_side_tree, open_side_tree, pick_commit
from runtime.codebase.git.writable import writable
from runtime.context.models import ActionResult
from runtime.errors import GitWriteError, StageError
from runtime.run.stage_view import StageView

MAX_DIFF_CHARS = 200_000


async def complete(context: StageContext, view: StageView) -> StageResult:
    """Show the diff, and ask where the caller wants to be asked."""
    task = task_of(view)
    if not state_of(view).verification.ready_for_completion:
        raise StageError(f"{task.task.task_id} is not ready: its checks and tests have not passed")
    diff = await context.run_blocking(diff_of, task)
    request = task.request
    route = "report" if request.dry_run else "review" if request.review else "confirm" if request.confirm else "commit"
    question = f"Commit this fix of {task.violation.check_id} in {task.file}?\n{diff}"
    asked = {"confirmation_question": question, "review_question": question} if route in {"review", "confirm"} else {}
    return StageResult({"route": route, "diff": diff, "message": message_of(task, state_of(view)), **asked})


async def commit(context: StageContext, view: StageView) -> StageResult:
    """Commit the fix to its own branch, and on top of the branch of all fixes."""
    task, message = task_of(view), str(view.outputs["complete"]["message"])
    try:
        made = await context.run_blocking(committed, task, message)
    except GitWriteError as error:
        return StageResult({"commit": "", "refused": error.message})
    return StageResult({"commit": made})


def committed(task: FixTask, message: str) -> str:
    """Return the commit on the branch of all fixes. Raises GitWriteError, and that branch stays as it was."""
    request = task.request
    repository, tree = Path(request.repository), task.work_tree
    who = writable(repository).identity
    own = commit_change(tree, [task.file], message, task.violation.violation_id, who)
    collected = Path(request.collected)
    with _alone(collected):
        onto = open_side_tree(repository, request.branch, collected, request.base_commit)
        return pick_commit(onto, own, who)


@contextmanager
def _alone(collected: Path) -> Iterator[None]:
    """Hold the lock of the branch of all fixes: several runs commit to it."""
    collected.parent.mkdir(parents=True, exist_ok=True)
    with (collected.parent / f"{collected.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def diff_of(task: FixTask) -> str:
    """Return the diff of the file against the commit that the fix began on."""
    tree = task.work_tree
    with GitWriter(Path(tree.folder)) as git:
        text = git.run("diff-index", "-p", "--no-ext-diff", "--no-textconv", tree.base_commit, "--", task.file)
    return text if len(text) <= MAX_DIFF_CHARS else text[:MAX_DIFF_CHARS] + "\n… cut"


def message_of(task: FixTask, state: FixState) -> str:
    """Return the message of the commit: what was mended, and how."""
    violation: Violation = task.found
    where = task.symbol or task.file
    steps = [
        record.summary
        for record in state.actions
        if record.result is ActionResult.SUCCESS and record.action not in {"run_check", "run_tests", "complete"}
    ]
    tested = f"A test that watches over it: {task.watched_by}" if task.watched_by else "No test watches over it."
    subject = f"Mend {violation.check_id} of {where}"
    return "\n".join([subject[:72], "", violation.message, *(f"- {step}" for step in steps), "", tested])


async def report(context: StageContext, view: StageView) -> StageResult:
    """Report how the fix ended, and remove its work tree."""
    if "prepare" not in view.outputs:
        why = "; ".join(view.failures.values()) or str(view.ended_by or "it could not be prepared")
        return StageResult({"final_response": f"The fix failed before it began: {why}", "failed": why})
    task, state = task_of(view), state_of(view)
    told = _report(task, state, view)
    await context.run_blocking(_close, task, context.services)
    return StageResult({"fix": plain(told), "final_response": words_of(told), "citations": []})


def _report(task: FixTask, state: FixState, view: StageView) -> FixReport:
    outputs: dict[str, dict[str, Any]] = dict(view.outputs)
    ending, reason = _ending(outputs, view)
    return FixReport(
        ending=ending,
        reason=reason,
        violation=task.violation,
        symbol=task.symbol,
        commit=str(outputs.get("commit", {}).get("commit", "")),
        diff=str(outputs.get("complete", {}).get("diff", "")),
        steps=state.step,
        reverted=sum("reverted" in (record.error or "") for record in state.actions),
        is_tested=bool(task.watched_by),
        outputs=state.outputs,
        specific_outputs=state.specific_outputs,
        ruled_steps=state.ruled_steps,
        why_ruled=state.why_ruled,
    )


def _ending(outputs: dict[str, dict[str, Any]], view: StageView) -> tuple[Ending, str]:
    if view.failures:
        return "failed", "; ".join(f"{stage}: {why}" for stage, why in view.failures.items())
    if why_not := outputs["prepare"].get("why_not"):
        return ("gone" if why_not == GONE else "skipped"), str(why_not)
    if refused := outputs.get("commit", {}).get("refused"):
        return "escalated", f"it is fixed, but cannot be committed: {refused}"
    if "complete" in outputs and (outputs.get("commit") or outputs["complete"]["route"] == "report"):
        return "fixed", "the checks and all tests pass"
    if view.ended_by is not None:
        return "escalated", f"it was ended by {view.ended_by}"
    return "escalated", str(outputs.get("understand", {}).get("reason", "it was given up"))


def _close(task: FixTask, _services: Services) -> None:
    close_side_tree(Path(task.request.repository), task.work_tree)


def words_of(told: FixReport) -> str:
    """Return a report in words."""
    where = f"{told.symbol} in {told.violation.file_path}" if told.symbol else told.violation.file_path
    line = f"{told.ending}: {told.violation.check_id} of {where}: {told.reason} ({told.steps} steps)"
    return f"{line}\n\n```diff\n{told.diff}```" if told.diff and not told.commit else line
