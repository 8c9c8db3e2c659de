"""Bounds an agent's steps by its progress, and breaks its loops: once with a warning, then for good.

The state is plain data that can be kept between steps; `spend` derives the next one, and reads nothing else. The loop
detector is fed from the log of records: `detection_of` replays it, starting over after the warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from runtime.context.fields import Frozen, Lines, Name, NonNegative, Statement
from runtime.loops.detector import LoopDetector
from runtime.loops.records import Detection, LoopKind, StepRecord
from runtime.loops.suggestions import GENERAL_ADVICE, Advice
from runtime.loops.thresholds import DEFAULT_THRESHOLDS, Thresholds

BudgetStatus = Literal["goes_on", "warned", "spent", "looping"]


class BudgetLimits(Frozen):
    """Sets the steps at the beginning, those that each progress adds, and the most there can be."""

    initial_steps: int = Field(default=20, ge=1)
    steps_per_progress: int = Field(default=5, ge=0)
    max_steps: int = Field(default=40, ge=1)


class LoopWarning(Frozen):
    """Warns of the first loop, for the next context; `state` is the digest of the state that it ran in.

    The action is blocked with the parameters of this digest, as long as `is_blocking` is true: not if that action ends
    the task, nor after something changed or was learnt.
    """

    step: NonNegative
    kind: LoopKind
    description: Statement
    suggestions: Lines = ()
    evidence: Lines = ()
    action: Name
    parameters: str = ""
    state: str = ""
    is_blocking: bool = True

    @property
    def reason(self) -> str:
        """The reason why the action is blocked."""
        return f"{self.description}; blocked until something changes or is learnt"


class BudgetState(Frozen):
    """Holds what was spent and granted; `fewest_failing` is the lowest number of failing checks so far."""

    spent: NonNegative = 0
    granted: NonNegative = BudgetLimits().initial_steps
    fewest_failing: NonNegative | None = None
    warning: LoopWarning | None = None

    @property
    def remaining(self) -> int:
        """The steps that are left."""
        return max(0, self.granted - self.spent)

    def block_of(self, action: str, parameters: str) -> str | None:
        """Return the reason why an action with parameters of this digest is blocked, or None."""
        warning = self.warning
        if warning is None or not warning.is_blocking or warning.action != action:
            return None
        return warning.reason if warning.parameters == parameters else None


class BudgetVerdict(NamedTuple):
    """Answers whether the agent may take another step, with the reason, and the loop that was detected, if any."""

    goes_on: bool
    status: BudgetStatus
    reason: str
    detection: Detection | None


def new_budget(limits: BudgetLimits | None = None, failing: int | None = None) -> BudgetState:
    """Return the budget before the first step; `failing`: the checks that fail, if that is known."""
    limits = limits or BudgetLimits()
    return BudgetState(granted=min(limits.initial_steps, limits.max_steps), fewest_failing=failing)


def detection_of(
    log: Sequence[StepRecord],
    state: BudgetState,
    initial_state: str | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    advice: Advice = GENERAL_ADVICE,
) -> Detection | None:
    """Return the loop that the last record of the whole log closes, or None; what came before a warning is settled."""
    detector, found = LoopDetector(thresholds, advice, initial_state), None
    for record in log:
        found = detector.add(record)
        if state.warning is not None and record.step == state.warning.step:
            detector.start_over()
            found = None
    return found


def spend(
    state: BudgetState,
    record: StepRecord,
    detection: Detection | None,
    failing: int | None = None,
    limits: BudgetLimits | None = None,
) -> tuple[BudgetState, BudgetVerdict]:
    """Return the budget after a step, and the verdict.

    A new fact, a new file or fewer failing checks than ever is progress and grants steps; a new error does not. The
    first loop costs a further step and blocks the repeated action; the second ends the work.
    """
    limits = limits or BudgetLimits()
    is_better = failing is not None and (state.fewest_failing is None or failing < state.fewest_failing)
    has_progress = record.has_new_facts or record.has_new_checks or record.has_new_files
    has_progress |= is_better and state.fewest_failing is not None
    granted = min(limits.max_steps, state.granted + limits.steps_per_progress) if has_progress else state.granted
    is_second = detection is not None and state.warning is not None
    is_first = detection is not None and state.warning is None
    after = state.changed(
        spent=state.spent + 1 + is_first,
        granted=max(state.granted, granted),
        fewest_failing=failing if is_better else state.fewest_failing,
        warning=_warning(detection, record) if is_first else _lifted(state.warning, record, has_progress),
    )
    if is_second and detection is not None:
        reason = f"a second loop ({detection.kind}): {detection.description}"
        return after, BudgetVerdict(False, "looping", reason, detection)
    if not after.remaining:
        reason = f"{after.spent} of {after.granted} steps are spent, at most {limits.max_steps}"
        return after, BudgetVerdict(False, "spent", reason, detection)
    if is_first and detection is not None:
        reason = f"a loop ({detection.kind}): {detection.description}; its suggestions go into the next context"
        return after, BudgetVerdict(True, "warned", reason, detection)
    return after, BudgetVerdict(True, "goes_on", f"{after.remaining} steps remain", None)


def _warning(detection: Detection | None, record: StepRecord) -> LoopWarning | None:
    if detection is None:
        return None
    return LoopWarning(
        step=record.step,
        kind=detection.kind,
        description=detection.description,
        suggestions=detection.suggestions,
        evidence=detection.evidence,
        action=record.action,
        parameters=record.parameters,
        state=record.state,
        is_blocking=record.group != "end",
    )


def _lifted(warning: LoopWarning | None, record: StepRecord, has_progress: bool) -> LoopWarning | None:
    """Return the warning, without its block once a step brought news or another state."""
    if warning is None or not warning.is_blocking:
        return warning
    return warning.changed(is_blocking=not has_progress and record.state == warning.state)
