"""Opens the work tree of a fix, proves that tests watch the function, and states what is known."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from actors.capabilities.violation_fix.actions.edit_journal import digest_of
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, decoded
from actors.capabilities.violation_fix.agents.analysis import Analysed, analysed, has_first_step
from actors.capabilities.violation_fix.agents.fix_state import GONE, FixRequest, FixState, FixTask, plain
from actors.capabilities.violation_fix.agents.services import Services
from actors.capabilities.violation_fix.agents.understand import phase_view
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.verdicts import Coverage, load_baseline
from actors.capabilities.violation_fix.verification.verifier import Verifier
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.git.commits import refuse_filtered
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.linked_trees import FIX_PREFIX
from runtime.codebase.git.side_branches import open_side_tree, restore_tree
from runtime.context.adaptive_budget import new_budget
from runtime.context.fact_store import FactStore
from runtime.context.loop_records import state_digest
from runtime.context.models import Analysis, TaskSpec, Understanding, VerificationState, ViolationSpec
from runtime.errors import StageError
from runtime.run.stage_view import StageView

CONSTRAINTS = (
    "change nothing but the file of the violation",
    "keep behaviour, public names and signatures",
    "change no test, no configuration of a check, and excuse nothing with a comment",
)


async def prepare(context: StageContext, view: StageView) -> StageResult:
    """Open the work tree and describe the task."""
    given = view.metadata.get("task")
    if not isinstance(given, dict):
        raise StageError("this pipeline is started by `jeeves fix`: the run has no task")
    request = FixRequest.model_validate(given)
    at = datetime.fromtimestamp(context.clock.now_ms() / 1000, UTC)
    services: Services = context.services
    task, state, why_not = await context.run_blocking(prepared, request, services, at)
    route = "decide" if why_not is None else "report"
    return StageResult({"task": plain(task), "state": plain(state), "route": route, "why_not": why_not or ""})


def prepared(request: FixRequest, services: Services, at: datetime) -> tuple[FixTask, FixState, str | None]:
    """Return the task, the state before the first step, and why nothing is to be done, if so."""
    violation = msgspec.convert(request.violation, Violation)
    repository = Path(request.repository)
    with GitWriter(repository) as git:
        base = git.commit_of(f"refs/heads/{request.branch}") or request.base_commit
    tree = open_side_tree(repository, f"{FIX_PREFIX}{request.name}", services.tree_of(request.name), base)
    restore_tree(tree)
    with GitWriter(Path(tree.folder)) as git:
        # Said now, and not after the work: such a file cannot be committed here.
        refuse_filtered(git, [violation.path])
    spec = ViolationSpec(
        violation_id=violation.violation_id,
        check_id=violation.check_id,
        file_path=violation.path,
        line_number=violation.line or None,
        severity=violation.severity,
        message=violation.message,
        fix_hint=violation.hint or None,
    )
    task = FixTask(
        task=TaskSpec(
            task_id=request.name,
            task_type="fix_violation",
            goal=_goal(violation),
            success_criteria=(f"{violation.check_id} is gone and nothing new is found", "all tests that passed pass"),
            constraints=CONSTRAINTS,
            created_at=at,
        ),
        request=request,
        violation=spec,
        symbol=violation.symbol,
        tree=msgspec.to_builtins(tree),
        edits=str(services.edits_of(request.name)),
        file_digest="-",
    )
    place = task.workspace
    content = place.journal.read(task.file)
    task = task.changed(file_digest=digest_of(content))
    baseline = load_baseline(Path(request.baseline_file))
    verifier = Verifier(place.verified)
    verdict = verifier.check(baseline, violation)
    if verdict.is_fixed:
        return task, FixState(), GONE
    now = next((each for each in verdict.stayed if _is_same(each, violation)), violation)
    watched = verifier.covers(baseline, violation.path, now.line) if violation.symbol else _without_function()
    task = task.changed(watched_by=watched.red, unwatched=watched.why)
    state = _first_state(task, content, verdict.passing, verdict.failing, services)
    if not watched.is_proven and violation.fix != "safe" and not request.includes_untested:
        return task, state, f"{watched.why}; --untested fixes it all the same"
    return task, state, None


def _first_state(task: FixTask, content: bytes, passing: int, failing: int, services: Services) -> FixState:
    read = decoded(content, is_python=task.workspace.is_python)
    found = Analysed(Analysis(), ()) if isinstance(read, EditRefused) else analysed(task, read.text, 0)
    facts = found.facts
    store, _ = FactStore(understanding=Understanding()).add(facts, 0)
    state = FixState(
        understanding=store.understanding,
        verification=VerificationState(checks_passing=passing, checks_failing=failing),
        file_digest=task.file_digest,
        first_digest=state_digest({}, {"failing": failing, "passing": passing, "tests": False}),
        budget=new_budget(failing=failing),
        has_candidates=has_first_step(task, found.analysis, read.text if not isinstance(read, EditRefused) else ""),
    )
    return state.changed(phase=services.phases.start(phase_view(state)))


def _goal(violation: Violation) -> str:
    where = f"{violation.symbol} in {violation.path}" if violation.symbol else f"{violation.path}:{violation.line}"
    limits = f" (from {violation.measured} to {violation.allowed})" if violation.measured is not None else ""
    return f"mend {violation.check_id} of {where}{limits}: {violation.message}"


def _is_same(found: Violation, wanted: Violation) -> bool:
    return (found.check_id, found.symbol) == (wanted.check_id, wanted.symbol)


def _without_function() -> Coverage:
    return Coverage("", (), False, why="the violation lies in no function, so no test can be shown to watch over it")
