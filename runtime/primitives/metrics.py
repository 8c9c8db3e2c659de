"""Declares every metric.

Counters, the export at `GET /metrics` and the table of docs/metrics.md follow. The order here is that of the document.
How to add one: docs/guides/add-a-metric.md.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

# Who counts: supervisors from run events, the bus, the agents' processes, or the store.
Source = Literal["runs", "bus", "models", "tools", "queues"]
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
_WRITE_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_CONFIDENCE_BOUNDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

IN_FLIGHT = GaugeMetric("orchestrator_inflight_requests", "runs", "runs that are not over, those that wait included")
REQUESTS = CounterMetric("orchestrator_requests", "runs", "runs that have ended, by reason", ("terminal_reason",))
REQUEST_S = HistogramMetric(
    name="orchestrator_request_latency_seconds",
    source="runs",
    help="from accepting a request to the end of its run",
    unit="seconds",
    bounds=_REQUEST_BOUNDS_S,
)
REPORTS = CounterMetric(
    "meta_validator_reports",
    "runs",
    "results whose evidence was checked: `clean`, or `issues` when something was removed",
    ("outcome",),
)
ISSUES = CounterMetric("meta_validator_issue_detections", "runs", "what such checks removed, by reason", ("kind",))
RETRIES = CounterMetric(
    "workflow_retry_attempts",
    "runs",
    "repeated work: `reintent`, `replan`, `step` (another way after one that brought nothing), `stage` (a further"
    " attempt)",
    ("stage", "kind"),
)
RETRY_REASONS = CounterMetric(
    "workflow_retry_reasons",
    "runs",
    "why work was repeated: the kind of a failure, what a tool brought instead (`empty`, …), or the critic's reason",
    ("reason",),
)
DECISIONS = CounterMetric("critic_decisions", "runs", "decisions of critics", ("verdict",))
CONFIDENCE = HistogramMetric(
    name="critic_decision_confidence",
    source="runs",
    help="confidence of these decisions, from 0 to 1",
    bounds=_CONFIDENCE_BOUNDS,
)
HOPS = CounterMetric("jeeves_hops", "runs", "stage executions")
TOOL_CALLS = CounterMetric("jeeves_tool_calls", "runs", "tool calls")
SLOW_STAGES = CounterMetric("jeeves_slow_stages", "runs", "stage visits beyond the latency budget of their agent")
STAGE_S = HistogramMetric(
    name="jeeves_stage_seconds",
    source="runs",
    help="duration of stage attempts that ended as `success`, `error`, `skipped` or `cancelled`",
    labels=("stage", "status"),
    unit="seconds",
    bounds=_CALL_BOUNDS_S,
)
STORE_WRITE_S = HistogramMetric(
    name="jeeves_store_write_seconds",
    source="runs",
    help="duration of writes to run logs, each with the events of one or more runs",
    unit="seconds",
    bounds=_WRITE_BOUNDS_S,
)
QUEUED = GaugeMetric("jeeves_queued_runs", "runs", "accepted runs that wait for room")

QUEUE_TASKS = GaugeMetric(
    "jeeves_queue_tasks", "queues", "tasks of all work queues: `ready`, `leased`, `delayed`, `dead`", ("state",)
)

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
