"""Adds up the counts of run events in one process until they are reported to the store.

Counts are sent as reports with numbers from 1, so that the store adds each report once, however often it is sent.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from runtime.memory.run_metrics import RunReport
from runtime.primitives.counters import LabelledCounter, LabelledHistogram
from runtime.primitives.metrics import STORE_WRITE_S, CounterMetric, HistogramMetric, metrics_of
from runtime.supervision.run_counts import Count

REPORT_EVERY_S = 5.0


class RunMeter:
    """Counts the recorded events of all runs that one process drives."""

    def __init__(self) -> None:
        self._source = secrets.token_hex(8)
        self._counters = {each.name: LabelledCounter.of(each) for each in metrics_of("runs", CounterMetric)}
        self._histograms = {each.name: LabelledHistogram.of(each) for each in metrics_of("runs", HistogramMetric)}
        self._count = {name: each.count for name, each in (self._counters | self._histograms).items()}
        self._number = 0
        self._unsent: RunReport | None = None
        self._has_counted = False
        self._last_shown = (0, 0)

    def add(self, counts: Iterable[Count]) -> None:
        """Count what recorded events add."""
        for metric, value, labels in counts:
            self._count[metric.name](value, labels)
            self._has_counted = True

    def wrote(self, seconds: float) -> None:
        """Count a write to a run log."""
        self._histograms[STORE_WRITE_S.name].observe(seconds)
        self._has_counted = True

    def report(self, running: int, queued: int) -> RunReport | None:
        """Return the report to send now; None if there is nothing to report.

        Until `sent` is called, it is the same report again: it may have arrived.
        """
        shown = (running, queued)
        if self._unsent is None and (self._has_counted or any(shown) or shown != self._last_shown):
            self._number += 1
            self._unsent = RunReport(
                self._source,
                self._number,
                {name: counts for name, each in self._counters.items() if (counts := each.samples())},
                {name: values for name, each in self._histograms.items() if (values := each.samples())},
                running,
                queued,
            )
            self._clear()
        return self._unsent

    def sent(self, report: RunReport) -> None:
        """Drop a report that the store has."""
        if self._unsent is report:
            self._unsent = None
            self._last_shown = (report.running, report.queued)

    def _clear(self) -> None:
        for counter in self._counters.values():
            counter.clear()
        for histogram in self._histograms.values():
            histogram.clear()
        self._has_counted = False
