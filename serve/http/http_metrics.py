"""Exports the metrics of the HTTP service, the bus behind it and the agents' processes to Prometheus.

Metrics are declared in `runtime.primitives.metrics`; docs/metrics.md lists them.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from runtime.bus.circuit_breaker import State
from runtime.llm.call_metrics import ModelStats, together
from runtime.primitives.counters import MAX_VALUES_PER_LABEL
from runtime.primitives.metrics import (
    BUS_BREAKERS,
    BUS_ENDPOINTS,
    BUS_MESSAGES,
    BUS_PARKED,
    BUS_TROUBLE,
    BUS_UP,
    HOPS,
    IN_FLIGHT,
    MODEL_BREAKERS,
    REQUEST_S,
    REQUESTS,
    SLOW_STAGES,
    TOOL_CALLS,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    metrics_of,
)

# What the bus counts of frames that took no straight way.
BUS_TROUBLES = ("dead_letter", "dropped", "parked", "doubled", "stopped", "handler_failed")
BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}
# Processes whose last word is remembered one by one; of more, those that are silent are added up.
MOST_LIVES = 500
PRESENCES = ("connected", "away", "dead")

# Values of labels, in the order of the metric's labels, with what was counted under them.
Values = list[tuple[Sequence[str], float]]


class RequestMetrics:
    """Counts the requests of one replica, in a registry of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._gauges = {
            each: Gauge(each.name, each.help, each.labels, registry=registry)
            for each in metrics_of("requests", GaugeMetric)
        }
        self._counters = {
            each: Counter(each.name, each.help, each.labels, registry=registry)
            for each in metrics_of("requests", CounterMetric)
        }
        self._histograms = {
            each: Histogram(each.name, each.help, each.labels, buckets=each.bounds, registry=registry)
            for each in metrics_of("requests", HistogramMetric)
        }

    def in_flight(self) -> AbstractContextManager[None]:
        """Return a context manager that counts a question while it is being answered."""
        return self._gauges[IN_FLIGHT].track_inprogress()

    def answered(self, document: dict[str, Any], latency_s: float) -> None:
        """Record an answer document."""
        self._count(REQUESTS, 1, document["terminal_reason"] or "waiting")
        self._histograms[REQUEST_S].observe(latency_s)
        self._count(HOPS, document["usage"]["hops"])
        self._count(TOOL_CALLS, document["usage"]["tool_calls"])
        self._count(SLOW_STAGES, document["usage"].get("slow_stages", 0))

    def _count(self, metric: CounterMetric, by: float, *labels: str) -> None:
        counter = self._counters[metric]
        (counter.labels(*labels) if labels else counter).inc(by)


class BusMetrics(Collector):
    """Exports the bus's counters as of the last `update`; they restart at zero with the bus."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._stats: Mapping[str, Any] | None = None
        registry.register(self)

    def update(self, stats: Mapping[str, Any] | None) -> None:
        """Store the statistics of the bus (the shape of `Dispatcher.stats`), or None if it does not answer."""
        self._stats = stats

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the metric families for Prometheus; if the bus did not answer, only that it is not up."""
        yield _gauge(BUS_UP, [((), float(self._stats is not None))])
        if self._stats is None:
            return
        for gauge, read in _BUS_GAUGES.items():
            yield _gauge(gauge, read(self._stats))
        for counter, read in _BUS_COUNTERS.items():
            if counter is not BUS_MESSAGES or "metrics" in self._stats["middleware"]:
                yield _counter(counter, read(self._stats))


class ModelMetrics(Collector):
    """Exports the model-call metrics of the agents' processes, including those that have ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gone = ModelStats()
        self._lives: dict[str, ModelStats] = {}
        self._breakers: dict[str, State] = {}
        registry.register(self)

    def update(self, by_life: Mapping[str, ModelStats]) -> None:
        """Store each process's statistics; a process that is missing keeps its last ones, circuit breakers excepted."""
        self._breakers = together(by_life.values()).breakers
        self._lives.update(by_life)
        silent = [life for life in self._lives if life not in by_life]
        for life in silent[: max(0, len(self._lives) - MOST_LIVES)]:
            self._gone = together([self._gone, self._lives.pop(life)])

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """Yield the metric families for Prometheus."""
        counted = together([self._gone, *self._lives.values()])
        for counter in metrics_of("models", CounterMetric):
            samples = counted.counters[counter.name]
            yield _counter(counter, [(_in_order(counter, each.labels), each.value) for each in samples])
        for histogram in metrics_of("models", HistogramMetric):
            family = HistogramMetricFamily(histogram.name, histogram.help, labels=histogram.labels)
            for found in counted.histograms[histogram.name]:
                buckets = _cumulative(histogram, found.counts)
                family.add_metric(_in_order(histogram, found.labels), buckets, found.total)
            yield family
        states = sorted(self._breakers.items())
        yield _gauge(MODEL_BREAKERS, [((name,), BREAKER_STATES[state]) for name, state in states])


def _in_order(metric: CounterMetric | HistogramMetric, labels: Mapping[str, str]) -> list[str]:
    return [labels[label] for label in metric.labels]


def _cumulative(metric: HistogramMetric, counts: list[int]) -> list[tuple[str, float]]:
    bounds = [*(str(bound) for bound in metric.bounds), "+Inf"]
    return [(bound, float(total)) for bound, total in zip(bounds, accumulate(counts), strict=True)]


def _gauge(metric: GaugeMetric, values: Values) -> GaugeMetricFamily:
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _counter(metric: CounterMetric, values: Values) -> CounterMetricFamily:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _endpoints(stats: Mapping[str, Any]) -> Values:
    tally = Tally(stats["endpoints"].values())
    return [((presence,), tally[presence]) for presence in PRESENCES]


def _messages(stats: Mapping[str, Any]) -> Values:
    samples = stats["middleware"]["metrics"][BUS_MESSAGES.name]
    return [(_in_order(BUS_MESSAGES, sample["labels"]), sample["value"]) for sample in samples]


def _breakers(stats: Mapping[str, Any]) -> Values:
    """Return the state of each failing message type, worst first, at most as many as a label may have values."""
    failing: Mapping[str, Mapping[str, Any]] = stats["middleware"].get("circuit_breaker", {})
    states = [(BREAKER_STATES[breaker["state"]], type_) for type_, breaker in failing.items()]
    worst = sorted(states, key=lambda pair: (-pair[0], pair[1]))[:MAX_VALUES_PER_LABEL]
    return [((type_,), state) for state, type_ in worst]


# How each metric is read from the statistics of the bus.
_BUS_GAUGES: dict[GaugeMetric, Callable[[Mapping[str, Any]], Values]] = {
    BUS_PARKED: lambda stats: [((), stats["parked"])],
    BUS_ENDPOINTS: _endpoints,
    BUS_BREAKERS: _breakers,
}
_BUS_COUNTERS: dict[CounterMetric, Callable[[Mapping[str, Any]], Values]] = {
    BUS_TROUBLE: lambda stats: [((kind,), stats["counts"].get(kind, 0)) for kind in BUS_TROUBLES],
    BUS_MESSAGES: _messages,
}
