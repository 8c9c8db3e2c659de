"""Exports metrics to Prometheus: of runs, the bus, the agents' processes, tools and queues.

Metrics are declared in `runtime.primitives.metrics`; docs/metrics.md lists them.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from runtime.bus.circuit_breaker import State
from runtime.llm.call_metrics import ModelStats, together
from runtime.memory.run_metrics import RunTotals
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.counters import MAX_VALUES_PER_LABEL, HistogramSample
from runtime.primitives.metrics import (
    BUS_BREAKERS,
    BUS_ENDPOINTS,
    BUS_MESSAGES,
    BUS_PARKED,
    BUS_TROUBLE,
    BUS_UP,
    IN_FLIGHT,
    MODEL_BREAKERS,
    QUEUE_TASKS,
    QUEUED,
    REQUESTS,
    TOOL_BREAKERS,
    TOOL_HEALTH,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    metrics_of,
)
from runtime.queues.work_table import QueueStats
from runtime.run.envelope import FAILURE_REASONS
from runtime.tools.health import Health

# What the bus counts of frames that took no straight way.
BUS_TROUBLES = ("dead_letter", "dropped", "parked", "doubled", "stopped", "handler_failed")
BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}
HEALTH_LEVELS: dict[Health, float] = {"unknown": 0, "healthy": 0, "degraded": 1, "unhealthy": 2}
# Processes whose last word is remembered one by one; of more, those that are silent are added up.
MOST_LIVES = 500
PRESENCES = ("connected", "away", "dead")
TASK_STATES = ("ready", "leased", "delayed", "dead")

# Prometheus takes the first value of a series for no increase: what alerts ask for is there before it happens.
_FROM_ZERO: dict[CounterMetric, dict[tuple[str, ...], float]] = {
    REQUESTS: {(reason,): 0.0 for reason in ("completed", *sorted(FAILURE_REASONS))}
}

# Values of labels, in the order of the metric's labels, with what was counted under them.
Values = list[tuple[Sequence[str], float]]


class RunMetrics(Collector):
    """Exports what the events of the runs of all processes add up to, as of the last `update`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._totals: RunTotals | None = None
        registry.register(self)

    def update(self, totals: RunTotals | None) -> None:
        """Store the totals, or None if the store does not answer."""
        self._totals = totals

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """Yield the metric families for Prometheus; nothing if the store did not answer."""
        if self._totals is None:
            return
        yield _gauge(IN_FLIGHT, [((), self._totals.running)])
        yield _gauge(QUEUED, [((), self._totals.queued)])
        for counter in metrics_of("runs", CounterMetric):
            samples = self._totals.counters.get(counter.name, [])
            counts = {tuple(_in_order(counter, each.labels)): each.value for each in samples}
            yield _counter(counter, list((_FROM_ZERO.get(counter, {}) | counts).items()))
        for histogram in metrics_of("runs", HistogramMetric):
            yield _histogram(histogram, self._totals.histograms.get(histogram.name, []))


class QueueMetrics(Collector):
    """Exports the tasks of the store's work queues by state, as of the last `update`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._queues: Sequence[QueueStats] = ()
        registry.register(self)

    def update(self, queues: Sequence[QueueStats]) -> None:
        """Store the counts of each queue."""
        self._queues = queues

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metric families for Prometheus."""
        totals = {state: sum(getattr(each, state) for each in self._queues) for state in TASK_STATES}
        yield _gauge(QUEUE_TASKS, [((state,), total) for state, total in totals.items()])


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
            yield _histogram(histogram, counted.histograms[histogram.name])
        states = sorted(self._breakers.items())
        yield _gauge(MODEL_BREAKERS, [((name,), BREAKER_STATES[state]) for name, state in states])


class ToolMetrics(Collector):
    """Exports the health of tools as of the last `update`; tools that were not called lately are missing."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tools: Sequence[ToolHealth] = ()
        registry.register(self)

    def update(self, tools: Sequence[ToolHealth]) -> None:
        """Store the health of each tool."""
        self._tools = tools[:MAX_VALUES_PER_LABEL]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metric families for Prometheus."""
        yield _gauge(TOOL_HEALTH, [((tool.tool,), HEALTH_LEVELS[tool.health]) for tool in self._tools])
        yield _gauge(TOOL_BREAKERS, [((tool.tool,), float(tool.open_in)) for tool in self._tools])


def _in_order(metric: CounterMetric | HistogramMetric, labels: Mapping[str, str]) -> list[str]:
    return [labels[label] for label in metric.labels]


def _cumulative(metric: HistogramMetric, counts: list[int]) -> list[tuple[str, float]]:
    bounds = [*(str(bound) for bound in metric.bounds), "+Inf"]
    return [(bound, float(total)) for bound, total in zip(bounds, accumulate(counts), strict=True)]


def _histogram(metric: HistogramMetric, samples: Sequence[HistogramSample]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for each in samples:
        family.add_metric(_in_order(metric, each.labels), _cumulative(metric, each.counts), each.total)
    return family


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
