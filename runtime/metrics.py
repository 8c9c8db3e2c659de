"""Counters that belong to no registry: whoever exports metrics reads `samples`."""

from __future__ import annotations

from collections import Counter

import msgspec

OTHER = "other"
MOST_VALUES_PER_LABEL = 200


class Sample(msgspec.Struct, frozen=True):
    """One number and the labels that it is counted under."""

    labels: dict[str, str]
    value: int


class LabelledCounter:
    """Counts under labels. A label takes `most_values` values; what comes beyond is counted as `other`."""

    def __init__(
        self, name: str, help_text: str, labels: tuple[str, ...], most_values: int = MOST_VALUES_PER_LABEL
    ) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = labels
        self._most_values = most_values
        self._known: tuple[set[str], ...] = tuple(set() for _ in labels)
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, *values: str, by: int = 1) -> None:
        """Count once, or `by` times, under one value for each label."""
        named = zip(self._known, values, strict=True)
        self._counts[tuple(self._bounded(known, value) for known, value in named)] += by

    def samples(self) -> list[Sample]:
        """What has been counted, one sample for each set of labels."""
        return [
            Sample(dict(zip(self.labels, values, strict=True)), count) for values, count in sorted(self._counts.items())
        ]

    def _bounded(self, known: set[str], value: str) -> str:
        if value not in known:
            if len(known) >= self._most_values:
                return OTHER
            known.add(value)
        return value
