"""Defines what a fix is about, and its state: what each stage hands to the next, as plain data.

The state is a value: each step makes a new one, which the run's log keeps. Old records load, since new fields are
optional.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace
from runtime.context.fields import Frozen, Lines, Name, Names, NonNegative, Text
from runtime.context.models import (
    ActionRecord,
    ActionResult,
    AgentContext,
    PhaseState,
    TaskSpec,
    Understanding,
    VerificationState,
    ViolationSpec,
)
from runtime.run.stage_view import StageView

MAX_STEPS_KEPT = 200

Ending = Literal["fixed", "escalated", "skipped", "failed"]


class FixLimits(Frozen):
    """Holds the limits that the fixed code has to keep, new functions included."""

    complexity: int = Field(default=10, ge=1)
    parameters: int = Field(default=5, ge=0)
    line_length: int = Field(default=120, ge=40)


class FixRequest(Frozen):
    """Says what a run is to fix, and how: the part of the run's metadata that the door wrote.

    `branch`: where the commit goes; `confirm` and `review`: a person is asked before it is made. `python` and
    `test_command` override what is detected; `tests_allowed`: whether commands that the repository names may run.
    """

    violation: dict[str, Any]
    fix_id: Name
    branch: Name
    limits: FixLimits = FixLimits()
    confirm: bool = False
    review: bool = False
    dry_run: bool = False
    python: str | None = None
    test_command: Names | None = None
    tests_allowed: bool = False


class FixTask(Frozen):
    """Holds what does not change while a fix is worked on. `symbol`: qualified name of the violating function.

    `root`: the work tree; `file`: the one file that may change, relative to it; `edits`: where its edits are recorded.
    `covered`: whether a passing test executes the function; None if no tests ran.
    """

    task: TaskSpec
    violation: ViolationSpec
    symbol: str = ""
    root: Name
    file: Name
    edits: Name
    base_commit: Name
    branch: Name
    limits: FixLimits = FixLimits()
    measured: NonNegative | None = None
    file_digest: Name
    baseline_file: str = ""
    covered: bool | None = None
    confirm: bool = False
    review: bool = False
    dry_run: bool = False
    notes: Lines = ()

    @property
    def workspace(self) -> FixWorkspace:
        """The place that tools work in."""
        return FixWorkspace(self.root, self.file, self.edits, self.limits.line_length)


class FixState(Frozen):
    """Holds the progress of a fix after `step` steps.

    `watch` and `budget` are the plain data of the loop detector's records and of the step budget. `tried`: refactorings
    that were refused or taken back, so that they are not proposed again. `advice`: what to try instead of a loop.
    """

    step: NonNegative = 0
    phase: PhaseState = PhaseState()
    understanding: Understanding = Understanding()
    verification: VerificationState = VerificationState()
    actions: tuple[ActionRecord, ...] = Field(default=(), max_length=MAX_STEPS_KEPT)
    files_modified: Names = ()
    plan: Text | None = None
    watch: tuple[dict[str, Any], ...] = ()
    budget: dict[str, Any] = Field(default_factory=dict)
    phase_data: dict[str, Any] = Field(default_factory=dict)
    tried: tuple[dict[str, Any], ...] = ()
    blocked: dict[str, str] = Field(default_factory=dict)
    advice: Lines = ()
    error: Text | None = None
    tests_ran_at_step: NonNegative | None = None


class ChosenAction(Frozen):
    """Holds the one action that the policy chose, and the context that it saw."""

    action: Name
    parameters: dict[str, Any] = Field(default_factory=dict)
    reasoning: Text | None = None
    refused: str | None = None
    context: AgentContext | None = None
    context_yaml: str = ""
    tokens: dict[str, int] = Field(default_factory=dict)


class ToolText(Frozen):
    """Holds what one tool printed; `scope` names what was verified, so that a later output replaces this one."""

    tool: Name
    result: ActionResult
    text: str = ""
    scope: str = ""


class ActionOutcome(Frozen):
    """Holds what came of an action: its record, the outputs of the tools that ran for it, and the file's state.

    `outputs`: what each tool printed, in order. `is_reverted`: the edit was taken back.
    """

    record: ActionRecord
    outputs: tuple[ToolText, ...] = ()
    verification: VerificationState = VerificationState()
    file_digest: str = ""
    is_modified: bool = False
    is_reverted: bool = False
    error_category: str | None = None
    files_read: Names = ()
    tests_ran: bool = False


class FixReport(Frozen):
    """Says how a fix ended."""

    ending: Ending
    reason: str
    commit: str = ""
    diff: str = ""
    steps: NonNegative = 0


def task_of(view: StageView) -> FixTask:
    """Return the task that `prepare` handed on."""
    return FixTask.model_validate(view.outputs["prepare"]["task"])


def state_of(view: StageView) -> FixState:
    """Return the state after the last step."""
    last = view.outputs.get("understand") or view.outputs["prepare"]
    return FixState.model_validate(last["state"])


def plain(model: Frozen) -> dict[str, Any]:
    """Return a model as plain data, without what has its default."""
    dumped: dict[str, Any] = model.model_dump(mode="json", exclude_defaults=True)
    return dumped
