"""Counts the model calls of a process, and merges the counts of several processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from runtime.bus.circuit_breaker import State
from runtime.llm.messages import Completion
from runtime.primitives.counters import HistogramSample, LabelledCounter, LabelledHistogram, Sample
from runtime.primitives.metrics import (
    MODEL_CALL_S,
    MODEL_CALLS,
    MODEL_FALLBACKS,
    MODEL_FIRST_TEXT_S,
    MODEL_RETRIES,
    MODEL_TOKENS,
    CounterMetric,
    HistogramMetric,
    metrics_of,
)

Outcome = Literal["served", "broke_off", "down", "busy", "refused", "stopped", "cancelled"]

_WORST_LAST: tuple[State, ...] = ("closed", "half_open", "open")


class ModelStats(msgspec.Struct, frozen=True):
    """Carries counts by metric name, and the state of each deployment's circuit breaker."""

    counters: dict[str, list[Sample]] = {}
    histograms: dict[str, list[HistogramSample]] = {}
    breakers: dict[str, State] = {}


class CallMetrics:
    """Counts the model calls of one process."""

    def __init__(self) -> None:
        self._counters = {each.name: LabelledCounter.of(each) for each in metrics_of("models", CounterMetric)}
        self._histograms = {each.name: LabelledHistogram.of(each) for each in metrics_of("models", HistogramMetric)}

    def ended(self, role: str, deployment: str, outcome: Outcome) -> None:
        """Count a call that has ended."""
        self._counters[MODEL_CALLS.name].add(role, deployment, outcome)

    def served(self, role: str, deployment: str, completion: Completion, seconds: float) -> None:
        """Count the tokens and the duration of a served call."""
        tokens = self._counters[MODEL_TOKENS.name]
        tokens.add(role, deployment, "in", by=completion.tokens_in)
        tokens.add(role, deployment, "cached", by=min(completion.tokens_cached, completion.tokens_in))
        tokens.add(role, deployment, "out", by=completion.tokens_out)
        self._histograms[MODEL_CALL_S.name].observe(seconds, deployment)

    def first_text(self, deployment: str, seconds: float) -> None:
        """Record the time to the first piece of an answer."""
        self._histograms[MODEL_FIRST_TEXT_S.name].observe(seconds, deployment)

    def retried(self, role: str, deployment: str) -> None:
        """Count a retry at the same deployment."""
        self._counters[MODEL_RETRIES.name].add(role, deployment)

    def passed_on(self, role: str, deployment: str) -> None:
        """Count a fallback from this deployment to the next one."""
        self._counters[MODEL_FALLBACKS.name].add(role, deployment)

    def stats(self, breakers: Mapping[str, State]) -> ModelStats:
        """Return all counts and the given breaker states as plain data."""
        return ModelStats(
            {name: counter.samples() for name, counter in self._counters.items()},
            {name: histogram.samples() for name, histogram in self._histograms.items()},
            dict(breakers),
        )


def together(stats: Iterable[ModelStats]) -> ModelStats:
    """Merge the counts of several processes: sums, and the worst state of each breaker."""
    counts: dict[str, dict[tuple[tuple[str, str], ...], int]] = {
        each.name: {} for each in metrics_of("models", CounterMetric)
    }
    values: dict[str, dict[tuple[tuple[str, str], ...], HistogramSample]] = {
        each.name: {} for each in metrics_of("models", HistogramMetric)
    }
    breakers: dict[str, State] = {}
    for each in stats:
        for name, samples in each.counters.items():
            for sample in samples:
                labels = tuple(sample.labels.items())
                counts[name][labels] = counts[name].get(labels, 0) + sample.value
        for name, found in each.histograms.items():
            for one in found:
                labels = tuple(one.labels.items())
                values[name][labels] = _added(values[name].get(labels), one)
        for deployment, state in each.breakers.items():
            breakers[deployment] = max(breakers.get(deployment, state), state, key=_WORST_LAST.index)
    return ModelStats(
        {
            name: [Sample(dict(labels), count) for labels, count in sorted(found.items())]
            for name, found in counts.items()
        },
        {name: [found[labels] for labels in sorted(found)] for name, found in values.items()},
        breakers,
    )


def _added(one: HistogramSample | None, other: HistogramSample) -> HistogramSample:
    if one is None:
        return other
    counts = [first + second for first, second in zip(one.counts, other.counts, strict=True)]
    return HistogramSample(one.labels, counts, one.total + other.total)
