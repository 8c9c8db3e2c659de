"""Watches for loops of failures: that alternate, that are alike, or that record the same error."""

from __future__ import annotations

from collections import deque

from runtime.loops.progress import JudgedStep
from runtime.loops.records import LOOKING, StepRecord
from runtime.loops.watching import MAX_EVIDENCE, Found


class ErrorCycle:
    """Finds failures that alternate between two actions while nothing is changed for good.

    Checks that fail in between may belong to the cycle or not. Where every failure was another try with another error,
    one more return is needed.
    """

    def __init__(self, threshold: int) -> None:
        self._with_checks = _Alternation(threshold)
        self._without_checks = _Alternation(threshold)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        if step.is_changed:
            self._with_checks.clear()
            self._without_checks.clear()
        if not step.is_failing:
            return None
        found = self._with_checks.add(step.record)
        return found if step.record.group == "check" else self._without_checks.add(step.record) or found


class _Alternation:
    """Follows one series of failures."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._failures: deque[StepRecord] = deque(maxlen=MAX_EVIDENCE)
        self.clear()

    def clear(self) -> None:
        """Forget the failures."""
        self._failures.clear()
        self._returns, self._has_repetition = 0, False

    def add(self, failure: StepRecord) -> Found | None:
        """Take in the next failure; return the cycle that it closes."""
        self._failures.append(failure)
        if not _is_return(self._failures):
            self._returns, self._has_repetition = 0, False
            return None
        self._returns += 1
        self._has_repetition |= _is_repetition(self._failures[-1], self._failures[-3])
        if self._returns < self._threshold + (not self._has_repetition):
            return None
        names = f"'{self._failures[-2].name}' and '{self._failures[-1].name}'"
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

    Reads and checks that succeed in between do not count. Errors of the category `other` have nothing in common but
    that; they must be equal.
    """

    def __init__(self, threshold: int) -> None:
        self._failures: deque[StepRecord] = deque(maxlen=threshold)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        is_look = step.record.group in LOOKING and not step.is_failing
        if step.is_settling or is_look:
            return None
        if step.is_changed or not step.is_failing:
            self._failures.clear()
            return None
        self._failures.append(step.record)
        return self._found() if len(self._failures) == self._failures.maxlen else None

    def _found(self) -> Found | None:
        category = self._failures[-1].error_category
        outcomes = {(f.error_category, f.error if category == "other" else "") for f in self._failures}
        if not category or len(outcomes) > 1 or len({f.action for f in self._failures}) < 2:
            return None
        names = ", ".join(dict.fromkeys(f"'{f.name}'" for f in self._failures))
        text = f"{names} all fail with '{category}', {len(self._failures)} times in a row"
        return Found("semantic_loop", 0.85, text, tuple(f.line for f in self._failures), len(self._failures))
