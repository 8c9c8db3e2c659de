"""Carries out the chosen action, verifies each edit, and takes back one that breaks something.

An action that is unknown, blocked or malformed is not carried out: it costs a step, and its record says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from actors.capabilities.violation_fix.actions.edit_journal import digest_of
from actors.capabilities.violation_fix.agents.fix_state import (
    ActionOutcome,
    ChosenAction,
    FixState,
    FixTask,
    ToolText,
    plain,
    state_of,
    task_of,
)
from runtime.agents.capability import StageContext, StageResult
from runtime.context.fields import MAX_TEXT_CHARS
from runtime.context.models import ActionRecord, ActionResult, VerificationState
from runtime.run.stage_view import StageView
from runtime.tools.result import ToolResult

MAX_OUTPUT_CHARS = 20_000
EDITS = frozenset(
    {
        "extract_function",
        "simplify_conditional",
        "split_parameters",
        "apply_safe_fix",
        "replace_lines",
        "edit_file",
        "write_file",
    }
)
CHECKS = frozenset({"run_check", "run_tests"})
READS = frozenset({"read_file", "load_context"})


async def act(context: StageContext, view: StageView) -> StageResult:
    """Carry out the action that `decide` chose."""
    task, state = task_of(view), state_of(view)
    chosen = ChosenAction.model_validate(view.outputs["decide"]["chosen"])
    outcome = await Acting(context, task, state, chosen).outcome()
    return StageResult({"record": plain(outcome.record), "outcome": plain(outcome)})


class Acting:
    """Carries out one action of one step."""

    def __init__(self, context: StageContext, task: FixTask, state: FixState, chosen: ChosenAction) -> None:
        self._context = context
        self._task = task
        self._state = state
        self._chosen = chosen
        self._place = task.workspace
        self._outputs: list[ToolText] = []

    async def outcome(self) -> ActionOutcome:
        """Return what came of the action."""
        name = self._chosen.action
        if self._chosen.refused is not None:
            return self._ended(ActionResult.SKIPPED, self._chosen.refused, error=self._chosen.refused)
        if name in EDITS:
            return await self._edited(name)
        if name in CHECKS:
            return await self._checked(name)
        if name in READS:
            return await self._read(name)
        return self._ended(ActionResult.SUCCESS, self._said())

    def _said(self) -> str:
        parameters = self._chosen.parameters
        return str(parameters.get("plan") or parameters.get("reason") or self._chosen.reasoning or self._chosen.action)

    async def _edited(self, name: str) -> ActionOutcome:
        key = f"{self._context.key.run_id}:{self._state.step + 1}"
        made = await self._call(name, {**self._chosen.parameters, "key": key})
        if not made.usable:
            category = str(made.data.get("category", "other"))
            return self._ended(ActionResult.FAILURE, made.error or "", error=made.error, category=category)
        checked = await self._call("run_check", {})
        why = _broken_by(checked)
        tested: ToolResult | None = None
        if why is None:
            tested = await self._call("run_tests", {"scope": "affected"})
            why = _broken_by(tested)
        if why is not None:
            # What checks and tests said holds for the edit that is taken back, not for the file as it is then.
            self._outputs = [text.changed(scope=f"step {self._state.step + 1}, reverted") for text in self._outputs]
            await self._call("take_back", {"edit": key})
            is_test = tested is not None
            return self._ended(
                ActionResult.FAILURE,
                f"taken back: {why}",
                error=f"the edit was reverted: {why}",
                category="test_regression" if is_test else "other",
                is_reverted=True,
            )
        # All tests ran before this edit, if at all.
        untested = self._state.verification.changed(tests_passing=False, ready_for_completion=False)
        verified = _verification(untested, checked, None, self._now())
        return self._ended(ActionResult.SUCCESS, _first_line(made), verification=verified)

    async def _checked(self, name: str) -> ActionOutcome:
        is_tests = name == "run_tests"
        result = await self._call(name, {"scope": "all"} if is_tests else {})
        if not result.usable:
            category = "timeout" if result.status == "timeout" else "other"
            return self._ended(ActionResult.FAILURE, result.error or "", error=result.error, category=category)
        checked, tested = (None, result) if is_tests else (result, None)
        verified = _verification(self._state.verification, checked, tested, self._now())
        why = _broken_by(result) if is_tests else None
        passed = why is None and (is_tests or not result.data["failing"])
        return self._ended(
            ActionResult.SUCCESS if passed else ActionResult.FAILURE,
            _first_line(result),
            error=why,
            category="test_regression" if why else None,
            verification=verified,
            tests_ran=is_tests,
        )

    async def _read(self, name: str) -> ActionOutcome:
        result = await self._call(name, self._chosen.parameters)
        if not result.usable:
            return self._ended(ActionResult.FAILURE, result.error or "", error=result.error, category="not_found")
        return self._ended(ActionResult.SUCCESS, _first_line(result), files_read=(str(result.data["read"]),))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._context.clock.now_ms() / 1000, UTC)

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        result = await self._context.tools.call(tool, self._place, dict(arguments))
        text = str(result.data.get("output") or result.error or "")[:MAX_OUTPUT_CHARS]
        outcome = _OUTCOMES.get(result.status, ActionResult.FAILURE)
        if result.usable and _broken_by(result) is not None:
            outcome = ActionResult.FAILURE
        scope = str(result.data.get("scope", ""))
        self._outputs.append(ToolText(tool=tool, result=outcome, text=text, scope=scope))
        return result

    def _ended(
        self,
        result: ActionResult,
        summary: str,
        *,
        error: str | None = None,
        category: str | None = None,
        verification: VerificationState | None = None,
        is_reverted: bool = False,
        files_read: Sequence[str] = (),
        tests_ran: bool = False,
    ) -> ActionOutcome:
        content = self._place.journal.read(self._place.file)
        record = ActionRecord(
            step=self._state.step + 1,
            action=self._chosen.action,
            target=self._task.file,
            parameters=self._chosen.parameters,
            result=result,
            summary=summary[:MAX_TEXT_CHARS],
            error=error[:MAX_TEXT_CHARS] if error else None,
        )
        return ActionOutcome(
            record=record,
            outputs=tuple(self._outputs),
            verification=self._state.verification if verification is None else verification,
            file_digest=digest_of(content),
            is_modified=digest_of(content) != self._task.file_digest,
            is_reverted=is_reverted,
            error_category=category,
            files_read=tuple(files_read),
            tests_ran=tests_ran,
        )


_OUTCOMES = {"ok": ActionResult.SUCCESS, "partial": ActionResult.PARTIAL}


def _broken_by(result: ToolResult) -> str | None:
    """Return what a check or a test run found broken that was whole before; None if nothing."""
    if not result.usable:
        return result.error or f"the check ended with {result.status}"
    broken: list[str] = list(result.data.get("broken", ()))
    return "; ".join(broken[:5]) + (f"; and {len(broken) - 5} more" if len(broken) > 5 else "") if broken else None


def _verification(
    before: VerificationState, checked: ToolResult | None, tested: ToolResult | None, at: datetime
) -> VerificationState:
    """Return the state of verification after a check or a run of all tests."""
    passing, failing, tests = before.checks_passing, before.checks_failing, before.tests_passing
    if checked is not None:
        passing, failing = int(checked.data["passing"]), int(checked.data["failing"])
    if tested is not None:
        tests = not tested.data.get("broken")
    return VerificationState(
        checks_passing=passing,
        checks_failing=failing,
        tests_passing=tests,
        ready_for_completion=tests and not failing and passing > 0,
        last_check_time=at,
    )


def _first_line(result: ToolResult) -> str:
    return str(result.data.get("output", "")).strip().split("\n", 1)[0]
