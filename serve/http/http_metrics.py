"""What the HTTP service counts, and what the bus behind it does, under the names that docs/metrics.md lists.

Labels take few values.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from runtime.bus.circuit_breaker import State
from runtime.llm.call_metrics import BOUNDS_S, COUNTERS, HISTOGRAMS, ModelStats, together
from runtime.primitives.counters import MAX_VALUES_PER_LABEL

LATENCY_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

# What the bus counts of frames that took no straight way.
BUS_TROUBLES = ("dead_letter", "dropped", "parked", "doubled", "stopped", "handler_failed")
BREAKER_STATES = {"closed": 0, "half_open": 1, "open": 2}
# Processes whose last word is remembered one by one; of more, those that are silent are added up.
MOST_LIVES = 500
PRESENCES = ("connected", "away", "dead")


class RequestMetrics:
    """Counters of one replica, in a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._in_flight = Gauge(
            "orchestrator_inflight_requests", "Questions being answered right now.", registry=registry
        )
        self._requests = Counter(
            "orchestrator_requests", "Questions answered, by how the run ended.", ["terminal_reason"], registry=registry
        )
        self._latency = Histogram(
            "orchestrator_request_latency_seconds",
            "From question to answer.",
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )
        self._hops = Counter("jeeves_hops", "Stage executions.", registry=registry)
        self._tool_calls = Counter("jeeves_tool_calls", "Tool calls.", registry=registry)

    def in_flight(self) -> AbstractContextManager[None]:
        """Counts a question while it is being answered."""
        return self._in_flight.track_inprogress()

    def answered(self, document: dict[str, Any], latency_s: float) -> None:
        """Book an answer document."""
        self._requests.labels(document["terminal_reason"] or "waiting").inc()
        self._latency.observe(latency_s)
        self._hops.inc(document["usage"]["hops"])
        self._tool_calls.inc(document["usage"]["tool_calls"])


class BusMetrics(Collector):
    """The bus's counters as they were when it was last asked; they begin anew when the bus is restarted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._stats: Mapping[str, Any] | None = None
        registry.register(self)

    def update(self, stats: Mapping[str, Any] | None) -> None:
        """Take up what the bus says (the shape of `Dispatcher.stats`), or None when it does not answer."""
        self._stats = stats

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The families that Prometheus is shown; without an answer of the bus only that it is not up."""
        yield GaugeMetricFamily("jeeves_bus_up", "Whether the bus answers.", value=float(self._stats is not None))
        if self._stats is None:
            return
        counts, middleware = self._stats["counts"], self._stats["middleware"]
        yield GaugeMetricFamily("jeeves_bus_parked_frames", "Frames waiting now.", value=self._stats["parked"])
        troubles = CounterMetricFamily("jeeves_bus_trouble", "Frames that took no straight way.", labels=["kind"])
        for kind in BUS_TROUBLES:
            troubles.add_metric([kind], counts.get(kind, 0))
        yield troubles
        yield _endpoints(self._stats["endpoints"])
        if "metrics" in middleware:
            yield _messages(middleware["metrics"]["jeeves_bus_messages"])
        yield _breakers(middleware.get("circuit_breaker", {}))


class ModelMetrics(Collector):
    """What the agents' processes have counted of their model calls, those of processes that are gone included."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gone = ModelStats()
        self._lives: dict[str, ModelStats] = {}
        self._breakers: dict[str, State] = {}
        registry.register(self)

    def update(self, by_life: Mapping[str, ModelStats]) -> None:
        """Take up what each process says now; of one that says nothing, the last word counts."""
        self._breakers = together(by_life.values()).breakers
        self._lives.update(by_life)
        silent = [life for life in self._lives if life not in by_life]
        for life in silent[: max(0, len(self._lives) - MOST_LIVES)]:
            self._gone = together([self._gone, self._lives.pop(life)])

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """The families that Prometheus is shown."""
        counted = together([self._gone, *self._lives.values()])
        for name, (labels, told) in COUNTERS.items():
            family = CounterMetricFamily(name, told, labels=list(labels))
            for sample in counted.counters[name]:
                family.add_metric([sample.labels[label] for label in labels], sample.value)
            yield family
        for name, told in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, told, labels=["deployment"])
            for found in counted.histograms[name]:
                histogram.add_metric([found.labels["deployment"]], _cumulative(found.counts), found.total)
            yield histogram
        states = GaugeMetricFamily(
            "jeeves_model_breaker_state", "Deployments: 0 closed, 1 half open, 2 open.", labels=["deployment"]
        )
        for deployment, state in sorted(self._breakers.items()):
            states.add_metric([deployment], BREAKER_STATES[state])
        yield states


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    bounds = [*(str(bound) for bound in BOUNDS_S), "+Inf"]
    return [(bound, float(total)) for bound, total in zip(bounds, accumulate(counts), strict=True)]


def _endpoints(presence_of: Mapping[str, str]) -> GaugeMetricFamily:
    tally = Tally(presence_of.values())
    family = GaugeMetricFamily("jeeves_bus_endpoints", "Endpoints by presence.", labels=["presence"])
    for presence in PRESENCES:
        family.add_metric([presence], tally[presence])
    return family


def _messages(samples: list[dict[str, Any]]) -> CounterMetricFamily:
    labels = ["kind", "type", "outcome"]
    family = CounterMetricFamily("jeeves_bus_messages", "Messages by outcome.", labels=labels)
    for sample in samples:
        family.add_metric([sample["labels"][label] for label in labels], sample["value"])
    return family


def _breakers(failing: Mapping[str, Mapping[str, Any]]) -> GaugeMetricFamily:
    """Types that fail now, worst first, and no more of them than a label may have values."""
    family = GaugeMetricFamily(
        "jeeves_bus_breaker_state", "Types that fail now: 0 closed, 1 half open, 2 open.", labels=["type"]
    )
    states = [(BREAKER_STATES[breaker["state"]], type_) for type_, breaker in failing.items()]
    for state, type_ in sorted(states, key=lambda pair: (-pair[0], pair[1]))[:MAX_VALUES_PER_LABEL]:
        family.add_metric([type_], state)
    return family
