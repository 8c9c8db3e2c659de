"""Counts values under labels without a registry; exporters of metrics read `samples`."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import msgspec

from runtime.primitives.metrics import CounterMetric, HistogramMetric

OTHER = "other"
MAX_VALUES_PER_LABEL = 200


class Sample(msgspec.Struct, frozen=True):
    """Holds one count and its labels."""

    labels: dict[str, str]
    value: int


class HistogramSample(msgspec.Struct, frozen=True):
    """Holds the counts of values up to each bound (and above the last one, at the end), and the sum of all values."""

    labels: dict[str, str]
    counts: list[int]
    total: float


class LabelledCounter:
    """Counts under labels. A label takes `max_values` values; further ones are counted as `other`."""

    def __init__(
        self, name: str, help_text: str, labels: tuple[str, ...], max_values: int = MAX_VALUES_PER_LABEL
    ) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = labels
        self._max_values = max_values
        self._known: tuple[set[str], ...] = tuple(set() for _ in labels)
        self._counts: Counter[tuple[str, ...]] = Counter()

    @classmethod
    def of(cls, metric: CounterMetric) -> LabelledCounter:
        """Make the counter of a declared metric."""
        return cls(metric.name, metric.help, metric.labels)

    def add(self, *values: str, by: int = 1) -> None:
        """Count once, or `by` times, under one value for each label."""
        named = zip(self._known, values, strict=True)
        self._counts[tuple(self._bounded(known, value) for known, value in named)] += by

    def samples(self) -> list[Sample]:
        """Return the counts, one sample for each set of labels."""
        return [
            Sample(dict(zip(self.labels, values, strict=True)), count) for values, count in sorted(self._counts.items())
        ]

    def _bounded(self, known: set[str], value: str) -> str:
        if value not in known:
            if len(known) >= self._max_values:
                return OTHER
            known.add(value)
        return value


class LabelledHistogram:
    """Counts values under labels, each in the bucket of the smallest bound that it does not exceed."""

    def __init__(self, name: str, help_text: str, labels: tuple[str, ...], bounds: tuple[float, ...]) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = labels
        self.bounds = bounds
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._totals: dict[tuple[str, ...], float] = {}

    @classmethod
    def of(cls, metric: HistogramMetric) -> LabelledHistogram:
        """Make the histogram of a declared metric."""
        return cls(metric.name, metric.help, metric.labels, metric.bounds)

    def observe(self, value: float, *values: str) -> None:
        """Count one value. The caller has to keep the number of label values small."""
        counts = self._counts.setdefault(values, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self._totals[values] = self._totals.get(values, 0.0) + value

    def samples(self) -> list[HistogramSample]:
        """Return the counts, one sample for each set of labels."""
        return [
            HistogramSample(dict(zip(self.labels, values, strict=True)), list(counts), self._totals[values])
            for values, counts in sorted(self._counts.items())
        ]
