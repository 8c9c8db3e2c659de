"""Watches for results that are recorded again and again, with no edit carried out in between."""

from __future__ import annotations

from collections import Counter, deque
from typing import ClassVar, Literal

from runtime.loops.progress import JudgedStep
from runtime.loops.records import LoopKind
from runtime.loops.watching import MAX_EVIDENCE, Found


class _Repetition:
    """Counts how often each result was recorded since the last edit."""

    field: ClassVar[Literal["errors", "checks"]]
    kind: ClassVar[LoopKind]
    confidence: ClassVar[float]
    words: ClassVar[str]

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
        results = set(step.record.errors if self.field == "errors" else step.record.checks)
        if not results:
            return None
        self._counts.update(results)
        self._lines.append(step.record.line)
        count = max(self._counts[result] for result in results)
        if count < self._threshold:
            return None
        text = f"{self.words} {count} times, with no edit carried out in between"
        return Found(self.kind, self.confidence, text, tuple(self._lines), count)


class RepeatedErrors(_Repetition):
    """Finds the same error recorded again and again."""

    field, kind, confidence, words = "errors", "semantic_loop", 0.8, "the same error was recorded"


class RepeatedChecks(_Repetition):
    """Finds checks that are repeated with the same result."""

    field, kind, confidence, words = "checks", "no_progress", 0.7, "a check had the same result"
