"""Defines what a fix is about, and its state: what each stage hands to the next, as plain data.

The state is a value: each step makes a new one, which the run's log keeps. Old records load, since new fields are
optional.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from pydantic import Field

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from actors.capabilities.violation_fix.verification.verdicts import Workspace
from runtime.codebase.git.work_trees import WorkTree
from runtime.context.adaptive_budget import BudgetState
from runtime.context.fields import Frozen, Name, Names, NonNegative, Text
from runtime.context.models import (
    ActionRecord,
    ActionResult,
    PhaseState,
    TaskSpec,
    Understanding,
    VerificationState,
    ViolationSpec,
)
from runtime.run.stage_view import StageView

MAX_STEPS_KEPT = 200

Ending = Literal["fixed", "gone", "escalated", "skipped", "failed"]
# Why nothing is done where the fix of another violation took this one along; the fix ends as `gone`.
GONE = "the violation does not exist any more"


class FixRequest(Frozen):
    """Says what a run is to fix, and how: the part of the run's metadata that the door wrote.

    `violation`, `setup`, `options`, `test_limits`: as the checks and the verification have them, as plain data. `name`
    names the run's work tree. The commit goes to `branch`, whose work tree is `collected`. `includes_untested`: also
    fix a function that no passing test executes. `confirm` and `review`: a person is asked before the commit.
    `asks_model`: a model decides, so that blocks which no rule can name are suggested too.
    """

    name: Name
    violation: dict[str, Any]
    repository: Name
    branch: Name
    collected: Name
    base_commit: Name
    baseline_file: Name
    setup: dict[str, Any]
    options: dict[str, Any] = Field(default_factory=dict)
    test_limits: dict[str, Any] = Field(default_factory=dict)
    line_length: int = Field(default=120, ge=40, le=1_000)
    includes_untested: bool = False
    confirm: bool = False
    review: bool = False
    dry_run: bool = False
    asks_model: bool = False


class FixTask(Frozen):
    """Holds what does not change while a fix is worked on. `symbol`: qualified name of the violating function.

    `tree`: the work tree, as plain data; `edits`: the folder that its edits are recorded in; `file_digest`: of the file
    before the first edit; `watched_by`: a test that an exception planted in the function turned red.
    """

    task: TaskSpec
    request: FixRequest
    violation: ViolationSpec
    symbol: str = ""
    tree: dict[str, Any]
    edits: Name
    file_digest: Name
    watched_by: str = ""
    unwatched: str = ""

    @property
    def file(self) -> str:
        """The one file that may change, relative to the work tree."""
        return self.violation.file_path

    @property
    def found(self) -> Violation:
        """The violation as the checks found it."""
        return msgspec.convert(self.request.violation, Violation)

    @property
    def work_tree(self) -> WorkTree:
        """The work tree of the fix."""
        return msgspec.convert(self.tree, WorkTree)

    @property
    def options(self) -> CheckOptions:
        """The selection and limits of the checks."""
        return msgspec.convert(self.request.options, CheckOptions)

    @property
    def workspace(self) -> FixWorkspace:
        """The place that tools work in."""
        return FixWorkspace(
            root=self.work_tree.folder,
            file=self.file,
            edits=self.edits,
            line_length=self.request.line_length,
            verified=Workspace(
                self.work_tree,
                msgspec.convert(self.request.setup, TestSetup),
                self.options,
                msgspec.convert(self.request.test_limits, TestLimits),
            ),
            violation=self.found,
            baseline_file=self.request.baseline_file,
        )


class FixState(Frozen):
    """Holds the progress of a fix after `step` steps.

    `tests_ran`: whether all tests ran since the last edit. `watch`: the records that loops are detected from, as plain
    data; `first_digest`: the digest of the state before the first step. `tried`: refactorings that were refused or
    taken back, so that they are not proposed again. `outputs`: of tools, and those that gave a specific fact.
    `has_candidates`: whether a first refactoring was found beforehand. `ruled_steps`: steps in which rules chose in the
    place of a model, and why they did first.
    """

    step: NonNegative = 0
    phase: PhaseState = PhaseState()
    understanding: Understanding = Understanding()
    verification: VerificationState = VerificationState()
    actions: tuple[ActionRecord, ...] = Field(default=(), max_length=MAX_STEPS_KEPT)
    files_modified: Names = ()
    tests_ran: bool = False
    file_digest: str = ""
    plan: Text | None = None
    watch: tuple[dict[str, Any], ...] = ()
    first_digest: str = ""
    budget: BudgetState = BudgetState()
    files_read: Names = ()
    tried: tuple[dict[str, Any], ...] = ()
    outputs: NonNegative = 0
    specific_outputs: NonNegative = 0
    has_candidates: bool = True
    ruled_steps: NonNegative = 0
    why_ruled: str = ""


class ChosenAction(Frozen):
    """Holds the one action that the policy chose; `refused`: why it is not carried out."""

    action: Name
    parameters: dict[str, Any] = Field(default_factory=dict)
    reasoning: Text | None = None
    refused: str | None = None


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
    """Says how a fix ended. `is_tested`: whether a passing test watches over the function.

    `ruled_steps` and `why_ruled`: in how many steps rules took over from the model, and why.
    """

    ending: Ending
    reason: str
    violation: ViolationSpec
    symbol: str = ""
    commit: str = ""
    diff: str = ""
    steps: NonNegative = 0
    reverted: NonNegative = 0
    is_tested: bool = False
    outputs: NonNegative = 0
    specific_outputs: NonNegative = 0
    ruled_steps: NonNegative = 0
    why_ruled: str = ""


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
