"""Watches a series of steps for one kind of loop each, at constant cost per step.

A watcher is asked about every step, and answers if this very step closes a loop of its kind. `WATCHERS` lists them, the
most specific first. What counts as honest work, beyond the thresholds, is explained in docs/loops-and-phases.md.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from runtime.loops.progress import JudgedStep
from runtime.loops.records import LOOKING, LoopKind, StepRecord
from runtime.loops.thresholds import Thresholds

MAX_EVIDENCE = 8


class Found(msgspec.Struct, frozen=True):
    """Holds what a watcher found; `detector` adds suggestions."""

    kind: LoopKind
    confidence: float
    description: str
    evidence: tuple[str, ...]
    count: int


class Watcher(Protocol):
    """Follows a series of steps; `see` returns what the step closes, or None."""

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""


class IdenticalAction:
    """Finds the same action with the same parameters, again and again, with the same error or the same state."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._last: StepRecord | None = None
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)
        self._count = 0

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        record, last = step.record, self._last
        is_repeated = last is not None and not record.has_news and _is_same(step, last)
        self._count = self._count + 1 if is_repeated else 1
        if not is_repeated:
            self._lines.clear()
        self._lines.append(record.line)
        self._last = record
        if self._count < self._threshold:
            return None
        text = f"'{record.action}' was repeated {self._count} times with the same parameters and brought nothing new"
        return Found("identical_action", 1.0, text, tuple(self._lines), self._count)


def _is_same(step: JudgedStep, last: StepRecord) -> bool:
    record = step.record
    if (record.action, record.parameters) != (last.action, last.parameters):
        return False
    has_same_error = record.error != "" and record.error == last.error and not step.is_changed
    return record.state == last.state or has_same_error


class ErrorCycle:
    """Finds failures that alternate between two actions while nothing is changed for good.

    Where every failure was another attempt with another error, one more return is needed.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._failures: deque[StepRecord] = deque(maxlen=MAX_EVIDENCE)
        self._returns = 0
        self._has_repetition = False

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_changed:
            self._failures.clear()
            self._returns, self._has_repetition = 0, False
        if not step.is_failing:
            return None
        self._failures.append(step.record)
        if not _is_return(self._failures):
            self._returns, self._has_repetition = 0, False
            return None
        self._returns += 1
        self._has_repetition |= _is_repetition(self._failures[-1], self._failures[-3])
        if self._returns < self._threshold + (not self._has_repetition):
            return None
        names = f"'{self._failures[-2].action}' and '{self._failures[-1].action}'"
        text = f"{names} fail in turn; {self._returns} times the one was returned to after the other had failed"
        return Found("error_cycle", 0.9, text, tuple(record.line for record in self._failures), self._returns)


def _is_return(failures: deque[StepRecord]) -> bool:
    if len(failures) < 3:
        return False
    first, second, third = ((f.action, f.error_category) for f in (failures[-3], failures[-2], failures[-1]))
    return first == third != second


def _is_repetition(record: StepRecord, earlier: StepRecord) -> bool:
    return record.parameters == earlier.parameters or (record.error != "" and record.error == earlier.error)


class SemanticLoop:
    """Finds different actions, one after the other, that all fail with the same category of error.

    Errors of the category `other` have nothing in common but that; they must be equal.
    """

    def __init__(self, threshold: int) -> None:
        self._failures: deque[StepRecord] = deque(maxlen=threshold)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_settling:
            return None
        if step.is_changed or not step.is_failing:
            self._failures.clear()
            return None
        self._failures.append(step.record)
        return self._found() if len(self._failures) == self._failures.maxlen else None

    def _found(self) -> Found | None:
        category = self._failures[-1].error_category
        outcomes = {(f.error_category, f.error if category == "other" else "") for f in self._failures}
        actions = list(dict.fromkeys(f.action for f in self._failures))
        if not category or len(outcomes) > 1 or len(actions) < 2:
            return None
        names = ", ".join(f"'{name}'" for name in actions)
        text = f"{names} all fail with '{category}', {len(self._failures)} times in a row"
        return Found("semantic_loop", 0.85, text, tuple(f.line for f in self._failures), len(self._failures))


class RepeatedErrors:
    """Finds the same error recorded again and again, with no edit carried out in between."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._counts: Counter[str] = Counter()
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_attempt:
            self._counts.clear()
            self._lines.clear()
            return None
        errors = set(step.record.errors)
        if not errors:
            return None
        self._counts.update(errors)
        self._lines.append(step.record.line)
        count = max(self._counts[error] for error in errors)
        if count < self._threshold:
            return None
        text = f"the same error was recorded {count} times, with no edit carried out in between"
        return Found("semantic_loop", 0.8, text, tuple(self._lines), count)


class Oscillation:
    """Finds states that the agent returns to. Each return counts until something is learnt, or two new states follow.

    The state before the first step was not brought about by the agent, nor is one that the system restores.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._visited: set[str] = set()
        self._returns = self._new_states = 0
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        record = step.record
        is_learnt = record.has_new_checks or (not step.is_changed and step.is_learning)
        if is_learnt:
            self._returns = 0
        if not step.is_changed or record.group in LOOKING:
            return None
        self._lines.append(record.line)
        is_return = record.state in self._visited
        self._visited.add(record.state)
        self._new_states = 0 if is_return else self._new_states + 1
        if self._new_states >= 2:
            self._returns = 0
        if not is_return or is_learnt:
            return None
        self._returns += 1
        if self._returns < self._threshold:
            return None
        text = f"the files and the results of checks came back to an earlier state {self._returns} times"
        return Found("oscillation", 0.85, text, tuple(self._lines), self._returns)


class NoProgress:
    """Finds a stretch of steps that neither changed nor brought anything.

    Steps that an attempt gave reason for, and new tries that failed or were taken back, lengthen the stretch. It is a
    loop only if it has two steps without such a reason, or as many tries as the threshold.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)
        self._length = self._idle = self._tries = 0

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_news:
            self._lines.clear()
            self._length = self._idle = self._tries = 0
            return None
        self._lines.append(step.record.line)
        self._length += 1
        self._tries += step.is_try
        self._idle += not step.is_try and not step.is_settling
        is_pointless = self._idle >= 2 or self._tries >= self._threshold
        if self._length < self._threshold or step.is_settling or not is_pointless:
            return None
        text = f"the last {self._length} actions brought no new fact, no new file and no other state"
        return Found("no_progress", 0.75, text, tuple(self._lines), self._length)


class RepeatedChecks:
    """Finds checks that are repeated with the same result, with no edit carried out in between."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._counts: Counter[str] = Counter()
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_attempt:
            self._counts.clear()
            self._lines.clear()
            return None
        checks = set(step.record.checks)
        if not checks:
            return None
        self._counts.update(checks)
        self._lines.append(step.record.line)
        count = max(self._counts[check] for check in checks)
        if count < self._threshold:
            return None
        text = f"a check had the same result {count} times, with no edit carried out in between"
        return Found("no_progress", 0.7, text, tuple(self._lines), count)


WATCHERS: tuple[tuple[str, Callable[[int], Watcher]], ...] = (
    ("identical_action", IdenticalAction),
    ("error_cycle", ErrorCycle),
    ("semantic_loop", SemanticLoop),
    ("repeated_errors", RepeatedErrors),
    ("oscillation", Oscillation),
    ("no_progress", NoProgress),
    ("repeated_checks", RepeatedChecks),
)


def watchers(thresholds: Thresholds) -> list[Watcher]:
    """Return a watcher for every threshold that is set, the most specific kind first."""
    found = [(make, getattr(thresholds, name)) for name, make in WATCHERS]
    return [make(threshold) for make, threshold in found if threshold is not None]
