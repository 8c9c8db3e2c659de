"""Each metric is declared once: what is counted, what is shown and what the document says follow from that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from runtime.bus.builtin_middleware import build_chain
from runtime.bus.dispatcher import Dispatcher
from runtime.bus.routing_table import RoutingTable
from runtime.memory.run_metrics import RunTotals
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.clock import FakeClock
from runtime.primitives.counters import MAX_VALUES_PER_LABEL
from runtime.primitives.metrics import CounterMetric, GaugeMetric, HistogramMetric, Metric, all_metrics, metrics_of
from runtime.tools.health import Health
from serve.http.answering.http_metrics import BusMetrics, ModelMetrics, QueueMetrics, RunMetrics, ToolMetrics

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
KINDS = {CounterMetric: "counter", GaugeMetric: "gauge", HistogramMetric: "histogram"}


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = (f"`{metric.shown_name}`", KINDS[type(metric)], metric.unit, labels, metric.help)
    return f"| {' | '.join(cells)} |"


def test_the_document_lists_every_metric_as_it_is_declared() -> None:
    counted = DOCUMENT.read_text(encoding="utf-8").partition("## What is counted")[2]
    rows = [line for line in counted.splitlines() if line.startswith("| `")]
    assert rows == [row(metric) for metric in all_metrics()]


def test_every_metric_is_shown_with_its_kind_and_help_and_nothing_else_is() -> None:
    registry = CollectorRegistry()
    RunMetrics(registry).update(RunTotals())
    QueueMetrics(registry)
    ModelMetrics(registry)
    ToolMetrics(registry)
    clock = FakeClock()
    BusMetrics(registry).update(Dispatcher(RoutingTable(), build_chain(({"use": "metrics"},), clock), clock).stats())
    text = generate_latest(registry).decode()
    shown = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert shown == {metric.shown_name: KINDS[type(metric)] for metric in all_metrics()}
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    assert {name: helps[name] for name in shown} == {metric.shown_name: metric.help for metric in all_metrics()}


@pytest.mark.parametrize("metric", all_metrics(), ids=lambda metric: metric.name)
def test_a_metric_has_a_name_of_its_own_that_ends_in_its_unit(metric: Metric) -> None:
    assert [each.name for each in all_metrics()].count(metric.name) == 1
    assert not metric.unit or metric.name.endswith(metric.unit)
    assert not isinstance(metric, HistogramMetric) or list(metric.bounds) == sorted(set(metric.bounds))


def test_the_sources_share_the_metrics_out_among_themselves() -> None:
    shares = [metrics_of(source, Metric) for source in ("runs", "bus", "models", "tools", "queues")]
    assert all(shares)
    assert sorted(each.name for share in shares for each in share) == sorted(each.name for each in all_metrics())


def test_the_health_of_tools_is_shown_by_level_with_a_bounded_number_of_labels() -> None:
    registry = CollectorRegistry()
    shown = ToolMetrics(registry)
    levels: tuple[Health, ...] = ("unknown", "healthy", "degraded", "unhealthy")
    shown.update([ToolHealth(f"{level}{n}", level, 9, 1, 5, open_in=2) for n in range(100) for level in levels])
    values = [registry.get_sample_value("jeeves_tool_health", {"tool": f"{level}0"}) for level in levels]
    assert values == [0, 0, 1, 2]
    assert registry.get_sample_value("jeeves_tool_breakers_open", {"tool": "degraded0"}) == 2
    lines = generate_latest(registry).decode().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 2 * MAX_VALUES_PER_LABEL
