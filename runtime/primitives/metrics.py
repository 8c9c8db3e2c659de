"""Declares every metric.

Counters, the export at `GET /metrics` and the table of docs/metrics.md follow. The order here is that of the document.
How to add one: docs/guides/add-a-metric.md.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

# Who counts: a replica of the HTTP service, the bus, the agents' processes, or the store.
Source = Literal["requests", "bus", "models", "tools"]
Unit = Literal["", "seconds", "tokens"]


class Metric(msgspec.Struct, frozen=True):
    """Declares a metric. `help` describes it in one phrase. Labels must take few values."""

    name: str
    source: Source
    help: str
    labels: tuple[str, ...] = ()
    unit: Unit = ""

    @property
    def shown_name(self) -> str:
        """Return the name in the export."""
        return self.name


class CounterMetric(Metric, frozen=True):
    """Declares a number that only grows; its name is without the ending `_total`."""

    @property
    def shown_name(self) -> str:
        """Return the name in the export, with the ending that Prometheus gives to counters."""
        return f"{self.name}_total"


class GaugeMetric(Metric, frozen=True):
    """Declares a number that goes up and down."""


class HistogramMetric(Metric, frozen=True, kw_only=True):
    """Declares a distribution, counted in buckets with these upper `bounds` (inclusive)."""

    bounds: tuple[float, ...]


Kind = TypeVar("Kind", bound=Metric)

_REQUEST_BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_CALL_BOUNDS_S = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

IN_FLIGHT = GaugeMetric("orchestrator_inflight_requests", "requests", "questions being answered right now")
REQUESTS = CounterMetric(
    "orchestrator_requests", "requests", "questions answered, by how the run ended", ("terminal_reason",)
)
REQUEST_S = HistogramMetric(
    name="orchestrator_request_latency_seconds",
    source="requests",
    help="from question to answer",
    unit="seconds",
    bounds=_REQUEST_BOUNDS_S,
)
HOPS = CounterMetric("jeeves_hops", "requests", "stage executions")
TOOL_CALLS = CounterMetric("jeeves_tool_calls", "requests", "tool calls")
SLOW_STAGES = CounterMetric("jeeves_slow_stages", "requests", "stage visits beyond the latency budget of their agent")

BUS_UP = GaugeMetric("jeeves_bus_up", "bus", "1 while the bus answers; at 0 the lines below are missing")
BUS_MESSAGES = CounterMetric(
    "jeeves_bus_messages",
    "bus",
    "messages by outcome; present only while the middleware `metrics` is enabled",
    ("kind", "type", "outcome"),
)
BUS_TROUBLE = CounterMetric(
    "jeeves_bus_trouble",
    "bus",
    "frames that were not delivered directly: `dead_letter`, `dropped` (an event without a subscriber), `parked`,"
    " `doubled`, `stopped` by middleware, `handler_failed`",
    ("kind",),
)
BUS_PARKED = GaugeMetric("jeeves_bus_parked_frames", "bus", "frames that wait for an endpoint that is away")
BUS_ENDPOINTS = GaugeMetric(
    "jeeves_bus_endpoints", "bus", "endpoints that are `connected`, `away`, `dead`", ("presence",)
)
BUS_BREAKERS = GaugeMetric(
    "jeeves_bus_breaker_state",
    "bus",
    "the circuit breaker of each query type that fails: 0 closed, 1 half open, 2 open",
    ("type",),
)

MODEL_CALLS = CounterMetric(
    "jeeves_model_calls",
    "models",
    "calls of models: `served`, `broke_off` (an incomplete answer), `down`, `busy`, `refused`, `stopped` (by"
    " the breaker), `cancelled`",
    ("role", "deployment", "outcome"),
)
MODEL_TOKENS = CounterMetric(
    "jeeves_model_tokens",
    "models",
    "tokens of served calls: `in`, `out`, and `cached`: those of `in` that the engine found in its prefix cache",
    ("role", "deployment", "kind"),
    "tokens",
)
MODEL_RETRIES = CounterMetric(
    "jeeves_model_retries", "models", "calls repeated because the model gave no answer", ("role", "deployment")
)
MODEL_FALLBACKS = CounterMetric(
    "jeeves_model_fallbacks",
    "models",
    "requests passed on from this deployment to the role's next",
    ("role", "deployment"),
)
MODEL_FIRST_TEXT_S = HistogramMetric(
    name="jeeves_model_first_text_seconds",
    source="models",
    help="from sending a request to the first text of a streamed answer",
    labels=("deployment",),
    unit="seconds",
    bounds=_CALL_BOUNDS_S,
)
MODEL_CALL_S = HistogramMetric(
    name="jeeves_model_call_seconds",
    source="models",
    help="from sending a request to the end of the answer",
    labels=("deployment",),
    unit="seconds",
    bounds=_CALL_BOUNDS_S,
)
MODEL_BREAKERS = GaugeMetric(
    "jeeves_model_breaker_state",
    "models",
    "0 closed, 1 half open, 2 open; the worst of all processes",
    ("deployment",),
)

TOOL_HEALTH = GaugeMetric(
    "jeeves_tool_health",
    "tools",
    "tools called in the last fifteen minutes: 0 healthy or not judged yet, 1 degraded, 2 unhealthy",
    ("tool",),
)
TOOL_BREAKERS = GaugeMetric(
    "jeeves_tool_breakers_open",
    "tools",
    "repositories (or other scopes of a tool) in which the tool's breaker is not closed",
    ("tool",),
)


def all_metrics() -> tuple[Metric, ...]:
    """Return every metric of this module, in its order."""
    return tuple(each for each in globals().values() if isinstance(each, Metric))


def metrics_of(source: Source, kind: type[Kind]) -> tuple[Kind, ...]:
    """Return the metrics of one kind that one source counts."""
    return tuple(each for each in all_metrics() if isinstance(each, kind) and each.source == source)
