"""What the HTTP service counts, under the names that docs/metrics.md lists. Labels take few values."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

LATENCY_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


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
        self._requests.labels(document["terminal_reason"]).inc()
        self._latency.observe(latency_s)
        self._hops.inc(document["usage"]["hops"])
        self._tool_calls.inc(document["usage"]["tool_calls"])
