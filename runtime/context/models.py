"""Defines the typed context of an agent that acts step by step: task, state, actions and analysis.

Every model is frozen; `changed` returns a validated copy. Facts are defined in understanding.py, actions and responses
in actions.py; this module exports them as well, so that users need one import.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from runtime.context.actions import ActionDef, ActionRecord, ActionResult, ActionsSpec, AgentResponse, BlockedAction
from runtime.context.fields import (
    MAX_ITEMS,
    MAX_SOURCE_CHARS,
    DomainContext,
    Frozen,
    LineNumber,
    Lines,
    Name,
    Names,
    NonNegative,
    Statement,
    Text,
    UtcTime,
)
from runtime.context.understanding import Fact, FactCategory, Understanding

__all__ = [
    "ActionDef",
    "ActionRecord",
    "ActionResult",
    "ActionsSpec",
    "AgentContext",
    "AgentResponse",
    "Analysis",
    "BlockedAction",
    "ExtractionSuggestion",
    "Fact",
    "FactCategory",
    "PhaseState",
    "StateSpec",
    "TaskSpec",
    "Understanding",
    "VerificationState",
    "ViolationSpec",
]

MAX_RECENT_ACTIONS = 5


class TaskSpec(Frozen):
    """Specifies a task: made once at its beginning, never changed."""

    task_id: Name
    task_type: Name
    goal: Statement
    success_criteria: Lines
    constraints: Lines = ()
    created_at: UtcTime


class ViolationSpec(Frozen):
    """Specifies a conformance violation; `line_number` counts from 1."""

    violation_id: Name
    check_id: Name
    file_path: Name
    line_number: LineNumber | None = None
    severity: Name = "warning"
    message: Text = ""
    fix_hint: Text | None = None
    test_path: Name | None = None


class VerificationState(Frozen):
    """Holds the last outcome of checks and tests; ready only if no check fails and the tests pass."""

    checks_passing: NonNegative = 0
    checks_failing: NonNegative = 0
    tests_passing: bool = False
    ready_for_completion: bool = False
    last_check_time: UtcTime | None = None

    @model_validator(mode="after")
    def _ready_only_when_all_pass(self) -> Self:
        if self.ready_for_completion and (self.checks_failing or not self.tests_passing):
            raise ValueError(
                f"cannot be ready for completion with {self.checks_failing} failing checks"
                f" and tests_passing {self.tests_passing}"
            )
        return self


class PhaseState(Frozen):
    """Holds the current phase and the phases left before it, oldest first."""

    current_phase: Name = "init"
    steps_in_phase: NonNegative = 0
    phase_history: Names = ()
    blocked_reason: Text | None = None


class StateSpec(Frozen):
    """Holds the progress of a task; `files_modified` are the files that differ from the baseline."""

    current_step: NonNegative = 0
    phase: PhaseState = PhaseState()
    verification: VerificationState = VerificationState()
    understanding: Understanding = Understanding()
    recent_actions: tuple[ActionRecord, ...] = Field(default=(), max_length=MAX_RECENT_ACTIONS)
    files_modified: Names = ()
    last_updated: UtcTime | None = None
    error: Text | None = None

    def with_action(self, record: ActionRecord) -> StateSpec:
        """Return the state with the action as its most recent one."""
        return self.changed(recent_actions=(*self.recent_actions, record)[-MAX_RECENT_ACTIONS:])


UNNAMED = "?"
"""Shown in place of a name that whoever carries out a suggestion has to give; no function can be called so."""


class ExtractionSuggestion(Frozen):
    """Suggests lines to extract to a function; both lines count from 1, the last is included.

    `suggested_name`: None where whoever extracts them has to name the function.
    """

    start_line: LineNumber
    end_line: LineNumber
    suggested_name: Name | None
    reason: Statement

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end_line < self.start_line:
            raise ValueError(f"ends at line {self.end_line}, before it starts at line {self.start_line}")
        return self


class Analysis(Frozen):
    """Holds what was computed before the first step; `function_lines` are the first and the last line, from 1."""

    violating_function: Name | None = None
    function_lines: tuple[LineNumber, LineNumber] | None = None
    function_source: str | None = Field(default=None, max_length=MAX_SOURCE_CHARS)
    extraction_suggestions: tuple[ExtractionSuggestion, ...] = Field(default=(), max_length=MAX_ITEMS)


class AgentContext(Frozen):
    """Holds the whole context of one step; `yaml_context.py` writes it for a language model."""

    task: TaskSpec
    state: StateSpec
    actions: ActionsSpec
    domain_context: DomainContext = Field(default_factory=dict)
    precomputed: Analysis = Analysis()
