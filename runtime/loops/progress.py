"""Judges each step of a series: what it changed, what was learnt, whether it had a reason.

All kinds of loops are told apart by these judgements. One step costs constant time, whatever came before it.
"""

from __future__ import annotations

from typing import NamedTuple

from runtime.loops.read_parts import ReadParts
from runtime.loops.records import EDITING, LOOKING, SETTLING, StepRecord

# With nothing failed since an edit, two looks at something known have a reason: at the code and at its tests.
MAX_LOOKS_AFTER_SUCCESS = 2


class JudgedStep(NamedTuple):
    """Adds to a record what the steps before it make of it.

    `is_changed`: the agent itself brought about another state. `is_attempt`: an edit that was carried out, also one
    that the system took back, unless the same edit was tried in the same state before. `is_learning`: the state
    changed, or something other than an error is known that was not; results of checks that alternate are known.
    `is_try`: an edit that was not tried in this state before, carried out or not. `is_settling`: a step that teaches
    nothing and yet had a reason: a check or a word that the task is done, once for each attempt, or another look at
    something known: once for each try that failed, or whose checks did, and twice in all after any other.
    """

    record: StepRecord
    is_changed: bool
    is_attempt: bool
    is_try: bool
    is_learning: bool
    is_settling: bool

    @property
    def is_news(self) -> bool:
        """True if the step changed the state or recorded anything new, be it an error."""
        return self.is_learning or self.record.has_new_errors

    @property
    def is_failing(self) -> bool:
        """True if the action failed. A check that finds fault is no failed action if there was a reason to run it."""
        is_useful_check = self.record.group == "check" and self.is_learning and not self.record.is_broken_check
        return self.record.is_failing and not self.is_settling and not is_useful_check


class Progress:
    """Judges the steps of one series in order. `initial_state` None: the state that the first step left."""

    def __init__(self, initial_state: str | None = None) -> None:
        self._state = initial_state
        self._seen = set() if initial_state is None else {initial_state}
        self._tried: set[tuple[str, str, str]] = set()
        self._read = ReadParts()
        self._read_since_try: ReadParts | None = None
        self._looks_since_try, self._has_failure_since_try = 0, False
        self._checks_since_attempt: set[tuple[str, str]] = set()

    def judge(self, record: StepRecord) -> JudgedStep:
        """Return the judgement of the next step."""
        before = record.state if self._state is None else self._state
        self._state = record.state
        is_own = not record.is_by_system and not record.is_state_restored
        is_changed = is_own and record.state != before
        is_try = self._is_try(record, before)
        is_attempt = record.group not in LOOKING and (is_changed or (is_try and _is_taken_back(record, before)))
        is_other = is_changed and (record.group not in LOOKING or record.state not in self._seen)
        is_undone = record.is_by_system and record.state != before and record.state in self._seen
        self._seen.add(record.state)
        is_learning = is_other or record.has_news
        is_settling = not is_learning and self._is_settling(record)
        if not record.is_by_system:
            self._remember(record)
        if is_try or is_attempt:
            self._read_since_try = ReadParts()
            self._looks_since_try, self._has_failure_since_try = 0, False
        self._has_failure_since_try |= record.outcome != "success" or record.is_state_restored or is_undone
        if is_attempt:
            self._checks_since_attempt.clear()
        return JudgedStep(record, is_changed, is_attempt, is_try, is_learning, is_settling)

    def _is_try(self, record: StepRecord, before: str) -> bool:
        """Return whether an edit is tried in this state for the first time, and remember it."""
        if record.is_by_system or record.group not in EDITING or record.outcome == "skipped":
            return False
        tried = (before, record.action, record.parameters)
        is_new = tried not in self._tried
        self._tried.add(tried)
        return is_new

    def _is_settling(self, record: StepRecord) -> bool:
        step = (record.action, record.parameters)
        if record.group != "read":
            is_first = step not in self._checks_since_attempt
            return is_first and record.group in SETTLING and not record.is_broken_check
        if record.is_failing or self._read_since_try is None or self._read.is_any_new(_places(record)):
            return False
        has_reason = self._has_failure_since_try or self._looks_since_try < MAX_LOOKS_AFTER_SUCCESS
        return has_reason and self._read_since_try.is_any_new(_places(record))

    def _remember(self, record: StepRecord) -> None:
        step = (record.action, record.parameters)
        if record.group in SETTLING and record.group != "read":
            self._checks_since_attempt.add(step)
        elif record.group == "read":
            self._read.add(_places(record))
            if self._read_since_try is not None:
                self._looks_since_try += 1
                self._read_since_try.add(_places(record))


def _places(record: StepRecord) -> tuple[str, ...]:
    """Return what a step read: its files, or the step itself if it names none."""
    return record.files_read or (f"{record.action} {record.parameters}",)


def _is_taken_back(record: StepRecord, before: str) -> bool:
    return record.is_state_restored or (record.error_category == "test_regression" and record.state == before)
