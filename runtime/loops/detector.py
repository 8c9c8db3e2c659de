"""Detects loops in a series of steps. Pure: it reads records, and neither a clock nor anything else.

A detector takes one step at a time, at a cost that does not grow with the number of steps before it; memory grows with
the number of different states, parameters and facts. Where only the log is kept, `first_loop` reads it in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.loops.kinds import watchers
from runtime.loops.progress import Progress
from runtime.loops.records import Detection, StepRecord
from runtime.loops.suggestions import GENERAL_ADVICE, Advice, suggestions_for
from runtime.loops.thresholds import DEFAULT_THRESHOLDS, Thresholds
from runtime.loops.watching import Found


class LoopDetector:
    """Follows one series of steps. `initial_state`: the digest before the first step, if it is known."""

    def __init__(
        self,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        advice: Advice = GENERAL_ADVICE,
        initial_state: str | None = None,
    ) -> None:
        self._thresholds = thresholds
        self._advice = advice
        self._progress = Progress(initial_state)
        self._watchers = watchers(thresholds)

    def add(self, record: StepRecord) -> Detection | None:
        """Take in the next step; return the most specific loop that it closes, or None."""
        step = self._progress.judge(record)
        if record.is_by_system:
            return None
        found = [loop for watcher in self._watchers if (loop := watcher.see(step)) is not None]
        return self._detection(found[0], record) if found else None

    def start_over(self) -> None:
        """Begin to count anew, after the agent was told of a loop; what it knows already is still known."""
        self._watchers = watchers(self._thresholds)

    def _detection(self, found: Found, record: StepRecord) -> Detection:
        return Detection(
            found.kind,
            found.confidence,
            found.description,
            suggestions_for(self._advice, found.kind, record.action, record.error_category),
            found.evidence,
            found.count,
            record.step,
            record.action,
            record.parameters,
        )


def first_loop(records: Iterable[StepRecord], detector: LoopDetector | None = None) -> Detection | None:
    """Return the first loop in a log, or None."""
    detector = detector or LoopDetector()
    return next((found for record in records if (found := detector.add(record)) is not None), None)
