"""Watches for loops that need no failure: steps that repeat, undo one another, or bring nothing."""

from __future__ import annotations

from collections import deque

from runtime.loops.progress import JudgedStep
from runtime.loops.records import LOOKING, StepRecord
from runtime.loops.watching import MAX_EVIDENCE, Found


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
        text = f"'{record.name}' was repeated {self._count} times with the same parameters and brought nothing new"
        return Found("identical_action", 1.0, text, tuple(self._lines), self._count)


def _is_same(step: JudgedStep, last: StepRecord) -> bool:
    record = step.record
    if (record.action, record.parameters) != (last.action, last.parameters):
        return False
    has_same_error = record.error != "" and record.error == last.error and not step.is_changed
    return record.state == last.state or has_same_error


class Oscillation:
    """Finds states that the agent returns to.

    Each return counts until a check has a new result, or two new states follow. The state before the first step was not
    brought about by the agent, nor is one that the system restores.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._visited: set[str] = set()
        self._returns = self._new_states = 0
        self._lines: deque[str] = deque(maxlen=MAX_EVIDENCE)

    def see(self, step: JudgedStep) -> Found | None:
        """Take in the next step."""
        record = step.record
        if record.has_new_checks:
            self._returns = 0
        if not step.is_changed or record.group in LOOKING:
            return None
        self._lines.append(record.line)
        is_return = record.state in self._visited
        self._visited.add(record.state)
        self._new_states = 0 if is_return else self._new_states + 1
        if self._new_states >= 2:
            self._returns = 0
        if not is_return or record.has_new_checks:
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
