"""Mends violations of a repository: one run of `violation_fix` each, on the work queue, one branch.

Runs of one file follow each other, since each begins on the commit of the one before; files are worked on side by side.
At the end all tests run once more over all fixes together, and commits that break one are taken back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from actors.capabilities.violation_fix.verification.verdicts import (
    Baseline,
    TestVerdict,
    Workspace,
    load_baseline,
    save_baseline,
)
from actors.capabilities.violation_fix.verification.verifier import Verifier
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.side_branches import close_side_tree, drop_commit, open_side_tree
from runtime.codebase.git.work_trees import WorkTree
from runtime.primitives.clock import SystemClock
from runtime.queues.work_queue import WorkQueue
from runtime.queues.work_table import Task, WorkerId
from serve.batch.fix_record import FixPlan, FixRecord, FixResult
from serve.batch.kept_baselines import KeptBaselines
from serve.batch.members import Members
from serve.batch.queue_workers import QueueWorkers, error_in

IDLE_S = 0.5

# Runs one request and returns the document of its run; the second argument is told the run's id when it begins.
RunFix = Callable[[dict[str, Any], Callable[[str], None]], Awaitable[dict[str, Any]]]
OnResult = Callable[[FixResult], None]


class TakenBaseline(NamedTuple):
    """Holds a baseline; `reused_from_ms`: when it was taken, if another fix has taken it."""

    baseline: Baseline
    reused_from_ms: int | None = None


def take_baseline(plan: FixPlan, record: FixRecord, trees: Path) -> TakenBaseline:
    """Return the baseline of all files of a plan: taken now, before a kill, or by a fix of the same commit. Blocks."""
    with suppress(FileNotFoundError):
        return TakenBaseline(load_baseline(record.baseline_file))
    kept = KeptBaselines(trees.parent / "baselines")
    found = kept.find(plan)
    if found is not None:
        save_baseline(found[0], record.baseline_file)
        return TakenBaseline(*found)
    tree = collected_tree(plan, trees)
    files = list(dict.fromkeys(request["violation"]["path"] for request in plan.requests))
    baseline = Verifier(_workspace(plan, tree)).baseline(files)
    save_baseline(baseline, record.baseline_file)
    kept.keep(plan, baseline)
    return TakenBaseline(baseline)


def collected_tree(plan: FixPlan, trees: Path) -> WorkTree:
    """Return the work tree of the branch of all fixes."""
    return open_side_tree(Path(plan.repository), plan.branch, trees / plan.fix_id, plan.base_commit)


def _workspace(plan: FixPlan, tree: WorkTree) -> Workspace:
    first = plan.requests[0]
    return Workspace(
        tree,
        msgspec.convert(first["setup"], TestSetup),
        msgspec.convert(first["options"], CheckOptions),
        msgspec.convert(first["test_limits"], TestLimits),
    )


class FixWorkers:
    """Runs the requests of one plan; tasks of the queue are files, each with its requests in order."""

    def __init__(self, queue: WorkQueue, plan: FixPlan, record: FixRecord, run: RunFix, on_result: OnResult) -> None:
        self._queue = queue
        self._plan = plan
        self._record = record
        self._run = run
        self._on_result = on_result

    async def work_off(self, members: Members) -> None:
        """Return when every request has a result, whichever process wrote it."""
        by_file: dict[str, list[dict[str, Any]]] = {}
        for request in self._plan.requests:
            by_file.setdefault(request["violation"]["path"], []).append(request)
        members.join(self._plan.concurrency)
        try:
            await self._take_from_the_dead(members)
            workers = QueueWorkers(
                self._queue,
                f"fix-{self._plan.fix_id}",
                SystemClock(),
                self._handle,
                lambda _payload, _result: None,
                self._on_dead,
                max_retries=1,
                idle_s=IDLE_S,
                key_of=lambda payload: str(msgspec.json.decode(payload)[0]["name"]),
                has_ended=lambda payload: all(map(self._has_ended, msgspec.json.decode(payload))),
                worker_names=members.workers(),
                on_idle=lambda: self._take_from_the_dead(members),
            )
            payloads = [msgspec.json.encode(group) for group in by_file.values()]
            await workers.work_off(payloads, self._plan.concurrency)
        finally:
            members.leave()

    async def _handle(self, payload: bytes) -> None:
        for request in msgspec.json.decode(payload):
            if not self._has_ended(request):
                name = str(request["name"])
                self._note(_result_of(name, await self._run(request, partial(self._begun, name))))

    def _begun(self, name: str, run_id: str) -> None:
        self._record.add(FixResult(name, run_id))

    def _has_ended(self, request: Mapping[str, Any]) -> bool:
        result = self._record.results().get(str(request["name"]))
        return result is not None and result.fix is not None

    def _note(self, result: FixResult) -> None:
        self._record.add(result)
        self._on_result(result)

    def _on_dead(self, task: Task) -> None:
        why = str(error_in(task).get("message", "its run failed"))
        for request in msgspec.json.decode(task.payload):
            if not self._has_ended(request):
                self._note(_failed(request, why))

    async def _take_from_the_dead(self, members: Members) -> None:
        for dead in members.of_the_dead():
            for worker in dead:
                await self._queue.deregister_worker(WorkerId(worker))


def _result_of(name: str, document: dict[str, Any]) -> FixResult:
    fix = document.get("fix")
    if not isinstance(fix, dict):
        reason = str(document.get("terminal_detail") or document.get("terminal_reason") or "it gave no report")
        fix = {"ending": "failed", "reason": reason}
    run_id, reason = str(document.get("run_id", "")), str(document.get("terminal_reason") or "")
    return FixResult(name, run_id, fix, reason, usage=document.get("usage", {}))


def _failed(request: dict[str, Any], why: str) -> FixResult:
    return FixResult(str(request["name"]), "", {"ending": "failed", "reason": why}, "internal_error")


def test_together(plan: FixPlan, record: FixRecord, trees: Path) -> TestVerdict | None:
    """Run all tests over all fixes; take commits back from the last one on until none that passed fails. Blocks.

    Returns the last verdict; None where there is nothing to test.
    """
    tree, baseline = collected_tree(plan, trees), load_baseline(record.baseline_file)
    verifier = Verifier(_workspace(plan, tree))
    commits = _commits(tree)
    if len({result.name for result in record.results().values() if _commit_of(result)}) < 2:
        return None
    path = str(plan.requests[0]["violation"]["path"])
    verdict = verifier.test(baseline, path, "all")
    while verdict is not None and (verdict.regressions or not verdict.is_complete) and commits:
        last = commits.pop()
        red = next(iter(verdict.regressions), None)
        why = f"{red} fails when all fixes are together" if red else "the tests of all fixes did not come to their end"
        drop_commit(tree, last)
        for result in record.results().values():
            if _commit_of(result) == last:
                record.add(msgspec.structs.replace(result, dropped=why))
        verdict = verifier.test(baseline, path, "all")
    return verdict


test_together.__test__ = False  # type: ignore[attr-defined]


def close(plan: FixPlan, trees: Path) -> bool:
    """Remove the work tree of all fixes; its branch stays if it has a commit. Return whether it stays."""
    tree = collected_tree(plan, trees)
    keeps = bool(_commits(tree))
    close_side_tree(Path(plan.repository), tree, keeps_branch=keeps)
    return keeps


def _commits(tree: WorkTree) -> list[str]:
    """Return the commits of a branch, oldest first."""
    with GitWriter(Path(tree.folder)) as git:
        if git.commit_of("HEAD") == tree.base_commit:
            return []
        return git.run("show", "--no-patch", "--format=%H", f"{tree.base_commit}..HEAD").split()[::-1]


def _commit_of(result: FixResult) -> str:
    return str((result.fix or {}).get("commit", ""))
