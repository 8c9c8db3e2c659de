"""Defines the neutral record of one step, from which loops are detected.

A record carries digests and flags instead of contents: whoever makes records decides what a fact, a file or a state
is. `runtime.context.loop_records` makes them of an agent's actions, `runtime.run.loop_detection` of stage visits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from runtime.primitives.visible_text import visible_line

Outcome = Literal["success", "failure", "partial", "skipped", "fatal"]
ActionGroup = Literal["edit", "extract", "check", "read", "end", "other"]
LoopKind = Literal["identical_action", "error_cycle", "semantic_loop", "oscillation", "no_progress"]

MAX_SHOWN_CHARS = 80
FAILING: frozenset[Outcome] = frozenset({"failure", "fatal"})
EDITING: frozenset[ActionGroup] = frozenset({"edit", "extract"})
LOOKING: frozenset[ActionGroup] = frozenset({"check", "read"})
CANNOT_RUN = frozenset({"timeout", "not_found", "syntax_error"})
SETTLING: frozenset[ActionGroup] = LOOKING | {"end"}


class StepRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records one step: the action, its outcome, the state after it, and whether it brought anything new.

    `parameters` and `error` are digests; equal digests mean equal parameters and equal errors. `state` is the digest of
    all that the actions change, after this step. `is_state_restored`: the system set that state, by taking an edit
    back. `is_by_system`: the agent did not choose this step at all. Facts are new if they were never recorded before.
    `checks` and `errors` name the results of checks and the errors that this step recorded, new or not; `files_read`
    the files that it read, as `path` or `path:first-last`.
    """

    step: int
    action: str
    outcome: Outcome
    group: ActionGroup = "other"
    target: str = ""
    parameters: str = ""
    error_category: str = ""
    error: str = ""
    state: str = ""
    is_state_restored: bool = False
    is_by_system: bool = False
    has_new_facts: bool = False
    has_new_checks: bool = False
    has_new_errors: bool = False
    has_new_files: bool = False
    checks: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The action's name for messages: short and visible, whatever an agent called it."""
        return _short(self.action)

    @property
    def is_failing(self) -> bool:
        """True if the action was carried out and failed."""
        return self.outcome in FAILING

    @property
    def is_broken_check(self) -> bool:
        """True if a check could not do its work, so that it found nothing."""
        return self.group == "check" and self.is_failing and self.error_category in CANNOT_RUN

    @property
    def has_news(self) -> bool:
        """True if anything but an error was recorded for the first time."""
        return self.has_new_facts or self.has_new_checks or self.has_new_files

    @property
    def line(self) -> str:
        """The step in one line, as evidence."""
        target = f" {_short(self.target)}" if self.target else ""
        category = f" ({self.error_category})" if self.error_category else ""
        return f"step {self.step}: {self.name}{target} -> {self.outcome}{category}"


def _short(text: str) -> str:
    line = visible_line(text[:MAX_SHOWN_CHARS])
    return line if len(text) <= MAX_SHOWN_CHARS else f"{line}…"


class Detection(msgspec.Struct, frozen=True):
    """Describes a detected loop: its kind, the confidence (0 to 1), what to try instead, and the steps that prove it.

    `count` is the figure that met the threshold; `action` and `parameters` are those of the step that closed the loop.
    """

    kind: LoopKind
    confidence: float
    description: str
    suggestions: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    count: int = 0
    step: int = 0
    action: str = ""
    parameters: str = ""


class ActionSummary(msgspec.Struct, frozen=True):
    """Counts actions by name and by outcome; `success_rate` is 0 to 1, and 0 if there are none."""

    total: int
    by_action: dict[str, int]
    by_outcome: dict[str, int]
    success_rate: float
    most_common: str | None


def summary(actions: Sequence[StepRecord]) -> ActionSummary:
    """Return the counts of `actions`; of the actions that are equally common, the first one taken is named."""
    by_action = Counter(record.action for record in actions)
    by_outcome: Counter[str] = Counter(record.outcome for record in actions)
    return ActionSummary(
        total=len(actions),
        by_action=dict(by_action),
        by_outcome=dict(by_outcome),
        success_rate=by_outcome["success"] / len(actions) if actions else 0.0,
        most_common=by_action.most_common(1)[0][0] if actions else None,
    )
