"""Counts values under labels without a registry; exporters of metrics read `samples`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from runtime.primitives.metrics import CounterMetric, HistogramMetric

OTHER = "other"
MAX_VALUES_PER_LABEL = 200
MAX_LABEL_CHARS = 100


class Sample(msgspec.Struct, frozen=True):
    """Holds one count and its labels."""

    labels: dict[str, str]
    value: int


class HistogramSample(msgspec.Struct, frozen=True):
    """Holds the counts of values up to each bound (and above the last one, at the end), and the sum of all values."""

    labels: dict[str, str]
    counts: list[int]
    total: float


class BoundedLabels:
    """Bounds the values of labels: each label takes `max_values`, further ones become `other`; long ones are cut."""

    def __init__(self, labels: tuple[str, ...], max_values: int = MAX_VALUES_PER_LABEL) -> None:
        self._max_values = max_values
        self._known: tuple[set[str], ...] = tuple(set() for _ in labels)

    def learn(self, seen: Iterable[tuple[str, ...]]) -> None:
        """Count these values as known."""
        for values in seen:
            for known, value in zip(self._known, values, strict=True):
                if value != OTHER:
                    known.add(value)

    def bounded(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """Return the values to count under."""
        return tuple(self._one(known, value) for known, value in zip(self._known, values, strict=True))

    def _one(self, known: set[str], value: str) -> str:
        value = value[:MAX_LABEL_CHARS]
        if value not in known and value != OTHER:
            if len(known) >= self._max_values:
                return OTHER
            known.add(value)
        return value


class LabelledCounter:
    """Counts under labels. A label takes `max_values` values; further ones are counted as `other`."""

    def __init__(
        self, name: str, help_text: str, labels: tuple[str, ...], max_values: int = MAX_VALUES_PER_LABEL
    ) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = labels
        self._bounds = BoundedLabels(labels, max_values)
        self._counts: dict[tuple[str, ...], int] = {}

    @classmethod
    def of(cls, metric: CounterMetric) -> LabelledCounter:
        """Make the counter of a declared metric."""
        return cls(metric.name, metric.help, metric.labels)

    def add(self, *values: str, by: int = 1) -> None:
        """Count once, or `by` times, under one value for each label."""
        self.count(by, values)

    def count(self, amount: float, values: tuple[str, ...]) -> None:
        """Count a whole number of times under one value for each label."""
        known = self._counts.get(values)
        if known is None:  # what is counted there was bounded before
            values = self._bounds.bounded(values)
            known = self._counts.get(values, 0)
        self._counts[values] = known + int(amount)

    def samples(self) -> list[Sample]:
        """Return the counts, one sample for each set of labels."""
        return [
            Sample(dict(zip(self.labels, values, strict=True)), count) for values, count in sorted(self._counts.items())
        ]

    def clear(self) -> None:
        """Set all counts to zero; which values are known stays."""
        self._counts.clear()


class LabelledHistogram:
    """Counts values under labels, each in the bucket of the smallest bound that it does not exceed.

    A label takes as many values as that of a counter.
    """

    def __init__(self, name: str, help_text: str, labels: tuple[str, ...], bounds: tuple[float, ...]) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = labels
        self.bounds = bounds
        self._labels = BoundedLabels(labels)
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._totals: dict[tuple[str, ...], float] = {}

    @classmethod
    def of(cls, metric: HistogramMetric) -> LabelledHistogram:
        """Make the histogram of a declared metric."""
        return cls(metric.name, metric.help, metric.labels, metric.bounds)

    def observe(self, value: float, *values: str) -> None:
        """Count one value under one value for each label."""
        self.count(value, values)

    def count(self, value: float, values: tuple[str, ...]) -> None:
        """Count one value, as `observe` does."""
        counts = self._counts.get(values)
        if counts is None:  # what is counted there was bounded before
            values = self._labels.bounded(values)
            counts = self._counts.setdefault(values, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self._totals[values] = self._totals.get(values, 0.0) + value

    def samples(self) -> list[HistogramSample]:
        """Return the counts, one sample for each set of labels."""
        return [
            HistogramSample(dict(zip(self.labels, values, strict=True)), list(counts), self._totals[values])
            for values, counts in sorted(self._counts.items())
        ]

    def clear(self) -> None:
        """Set all counts to zero; which values are known stays."""
        self._counts.clear()
        self._totals.clear()
