"""Judges each step of a series: what it changed, what was learnt, whether it had a reason.

All kinds of loops are told apart by these judgements. One step costs constant time, whatever came before it.
"""

from __future__ import annotations

from typing import NamedTuple

from runtime.loops.records import LOOKING, StepRecord


class JudgedStep(NamedTuple):
    """Adds to a record what the steps before it make of it.

    `is_changed`: the agent itself brought about another state. `is_attempt`: an edit that was carried out, also one
    that the system took back, unless the same edit was tried in the same state before. `is_learning`: the state
    changed, or something other than an error is known that was not; results of checks that alternate are known.
    `is_settling`: a check, or another look at something known, that an attempt gave reason for; once for each attempt.
    """

    record: StepRecord
    is_changed: bool
    is_attempt: bool
    is_learning: bool
    is_settling: bool

    @property
    def is_news(self) -> bool:
        """True if the step changed the state or recorded anything new, be it an error."""
        return self.is_learning or self.record.has_new_errors

    @property
    def is_failing(self) -> bool:
        """True if the action failed. A check that finds fault is no failed action if there was a reason to run it."""
        is_useful_check = self.record.group == "check" and self.is_learning
        return self.record.is_failing and not self.is_settling and not is_useful_check


class Progress:
    """Judges the steps of one series in order. `initial_state` None: the state that the first step left."""

    def __init__(self, initial_state: str | None = None) -> None:
        self._state = initial_state
        self._seen = set() if initial_state is None else {initial_state}
        self._tried: set[tuple[str, str, str]] = set()
        self._looks: set[tuple[str, str]] = set()
        self._looks_since_attempt: set[tuple[str, str]] = set()
        self._has_attempts = False

    def judge(self, record: StepRecord) -> JudgedStep:
        """Return the judgement of the next step."""
        before = record.state if self._state is None else self._state
        self._state = record.state
        is_own = not record.is_by_system and not record.is_state_restored
        is_changed = is_own and record.state != before
        is_attempt = record.group not in LOOKING and (is_changed or self._is_new_taken_back(record, before))
        is_other = is_changed and (record.group not in LOOKING or record.state not in self._seen)
        is_learning = is_other or record.has_news
        self._seen.add(record.state)
        is_settling = not is_learning and self._is_settling(record)
        if record.group in LOOKING and not record.is_by_system:
            self._looks.add((record.action, record.parameters))
            self._looks_since_attempt.add((record.action, record.parameters))
        if is_attempt:
            self._has_attempts = True
            self._looks_since_attempt.clear()
        return JudgedStep(record, is_changed, is_attempt, is_learning, is_settling)

    def _is_new_taken_back(self, record: StepRecord, before: str) -> bool:
        """Return whether an edit was carried out, taken back by the system, and never tried in this state before."""
        if record.is_by_system:
            return False
        is_taken_back = record.is_state_restored or (
            record.error_category == "test_regression" and record.state == before
        )
        attempt = (before, record.action, record.parameters)
        is_new = is_taken_back and attempt not in self._tried
        self._tried.add(attempt)
        return is_new

    def _is_settling(self, record: StepRecord) -> bool:
        look = (record.action, record.parameters)
        if record.group == "check":
            return look not in self._looks_since_attempt
        is_known = record.group == "read" and not record.is_failing and look in self._looks
        return is_known and self._has_attempts and look not in self._looks_since_attempt
