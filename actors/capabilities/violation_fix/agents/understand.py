"""Draws conclusions from what an action did, and decides where the fix goes from there.

Facts come from the outputs of tools by rules; the phase machine, the budget of steps and the loop detector each read
the new state. Everything here is computed from the handed-over values alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from actors.capabilities.violation_fix.agents.fix_state import (
    ActionOutcome,
    FixState,
    FixTask,
    ToolText,
    plain,
    state_of,
    task_of,
)
from runtime.agents.capability import StageContext, StageResult
from runtime.context.adaptive_budget import BudgetVerdict, detection_of, spend
from runtime.context.builtin_rules import RULE_SETS
from runtime.context.fact_extraction import Extraction, coverage_of, extract_facts
from runtime.context.fact_rules import RuleSet, ToolOutput
from runtime.context.fact_store import FactStore
from runtime.context.loop_records import EDITING_ADVICE, GROUP_OF, LoopRecorder, state_digest
from runtime.context.models import ActionRecord, ActionResult, Fact
from runtime.context.phase_guards import PhaseView
from runtime.context.phase_machine import PhaseMachine
from runtime.loops.records import StepRecord
from runtime.loops.suggestions import GENERAL_ADVICE
from runtime.run.stage_view import StageView

Route = Literal["again", "complete", "report"]

RULES: Mapping[str, RuleSet] = {
    **RULE_SETS,
    "split_parameters": RULE_SETS["extract_function"],
    "apply_safe_fix": RULE_SETS["edit_file"],
    "take_back": RULE_SETS["edit_file"],
}
GROUPS = {**GROUP_OF, "split_parameters": "extract", "apply_safe_fix": "edit", "record_plan": "other"}
ADVICE = {**GENERAL_ADVICE, **EDITING_ADVICE}


class Understood(NamedTuple):
    """Holds the state after a step, where the run goes, and why."""

    state: FixState
    route: Route
    reason: str


async def understand(context: StageContext, view: StageView) -> StageResult:
    """Take in the outcome of the last action."""
    outcome = ActionOutcome.model_validate(view.outputs["act"]["outcome"])
    state = state_of(view)
    if why := str(view.outputs["decide"].get("why_rules", "")):
        state = state.changed(ruled_steps=state.ruled_steps + 1, why_ruled=state.why_ruled or why)
    understood = after_step(task_of(view), state, outcome, context.services.phases)
    return StageResult(
        {
            "state": plain(understood.state),
            "route": understood.route,
            "reason": understood.reason,
        }
    )


def after_step(task: FixTask, state: FixState, outcome: ActionOutcome, phases: PhaseMachine) -> Understood:
    """Return the state after an action, and where the run goes."""
    drawn = [_drawn(text, outcome.record.step) for text in outcome.outputs]
    facts = [fact for extraction in drawn for fact in extraction.facts]
    store, change = FactStore(understanding=state.understanding).add(facts, outcome.record.step)
    record = outcome.record.changed(facts_produced=tuple(fact.id for fact in change.added)[:100])
    files = (task.file,) if outcome.is_modified else ()
    digest = state_digest(
        {task.file: outcome.file_digest} if outcome.is_modified else {},
        {
            "failing": outcome.verification.checks_failing,
            "passing": outcome.verification.checks_passing,
            "tests": outcome.verification.tests_passing,
        },
    )
    watched = _watched(state, outcome, facts, digest)
    log = [*_log(state), watched]
    detection = detection_of(log, state.budget, state.first_digest, advice=ADVICE)
    coverage = coverage_of(extraction.facts for extraction in drawn)
    budget, verdict = spend(state.budget, watched, detection, failing=outcome.verification.checks_failing)
    later = state.changed(
        step=record.step,
        understanding=store.understanding,
        verification=outcome.verification,
        actions=(*state.actions, record),
        files_modified=files,
        plan=_plan(state, outcome),
        watch=tuple(msgspec.to_builtins(each) for each in log),
        budget=budget,
        files_read=tuple(dict.fromkeys((*state.files_read, *outcome.files_read)))[-1000:],
        tried=_tried(state, outcome),
        tests_ran=outcome.tests_ran or (state.tests_ran and outcome.file_digest == state.file_digest),
        file_digest=outcome.file_digest,
        outputs=state.outputs + coverage.outputs,
        specific_outputs=state.specific_outputs + coverage.specific,
    )
    later = later.changed(phase=phases.after_step(state.phase, phase_view(later, record)))
    route, reason = _route(later, record, verdict)
    return Understood(later, route, reason)


def _drawn(text: ToolText, step: int) -> Extraction:
    return extract_facts(ToolOutput(text.tool, text.text, text.result, step, text.scope), RULES)


def _log(state: FixState) -> list[StepRecord]:
    return [msgspec.convert(each, StepRecord) for each in state.watch]


def _watched(state: FixState, outcome: ActionOutcome, facts: Sequence[Fact], digest: str) -> StepRecord:
    recorder = LoopRecorder(GROUPS)
    recorder.know(state.understanding.facts, state.files_read)
    return recorder.record(
        outcome.record,
        digest,
        facts,
        outcome.files_read,
        category=outcome.error_category or "" if outcome.record.error else None,
        is_state_restored=outcome.is_reverted,
    )


def _plan(state: FixState, outcome: ActionOutcome) -> str | None:
    is_plan = outcome.record.action == "record_plan" and outcome.record.result is ActionResult.SUCCESS
    return outcome.record.summary if is_plan else state.plan


def _tried(state: FixState, outcome: ActionOutcome) -> tuple[dict[str, Any], ...]:
    """Return the refactorings that need not be proposed again: those that were refused or taken back."""
    record = outcome.record
    if record.result is not ActionResult.FAILURE or GROUPS.get(record.action) not in {"extract", "edit"}:
        return state.tried
    return (*state.tried, {"action": record.action, "parameters": record.parameters, "why": record.error or ""})


def phase_view(state: FixState, record: ActionRecord | None = None) -> PhaseView:
    """Return what the guards of phases may look at."""
    verification = state.verification
    has_checks = verification.checks_passing + verification.checks_failing > 0
    return PhaseView(
        fact_categories=frozenset(str(fact.category.value) for fact in state.understanding.active),
        files_modified=len(state.files_modified),
        checks=(not verification.checks_failing) if has_checks else None,
        tests=verification.tests_passing if state.tests_ran else None,
        has_plan=state.plan is not None,
        has_candidates=state.has_candidates,
        last_action="" if record is None or record.result is ActionResult.SKIPPED else record.action,
        last_result="" if record is None else record.result.value,
    )


def _route(state: FixState, record: ActionRecord, verdict: BudgetVerdict) -> tuple[Route, str]:
    phase = state.phase.current_phase
    if phase == "complete":
        return "complete", "the checks and all tests pass"
    if phase in {"failed", "escalated"}:
        is_own = record.action in {"escalate", "cannot_fix"}
        return "report", record.summary if is_own else state.phase.blocked_reason or record.summary
    return ("again" if verdict.goes_on else "report"), verdict.reason
