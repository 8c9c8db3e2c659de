"""Keeps the counts of run events of all processes that use the store.

Counts only grow. A metric has at most `MAX_VALUES_PER_LABEL` values for each label over all reports; further ones are
counted as `other`. Amounts are whole numbers: those of histograms' sums are millionths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database, Schema, Transaction
from runtime.database.store_part import StorePart
from runtime.primitives.clock import Clock
from runtime.primitives.counters import BoundedLabels, HistogramSample, Sample
from runtime.primitives.metrics import CounterMetric, HistogramMetric, metrics_of

ADD_RUN_COUNTS = "metrics.add"
RUN_TOTALS = "metrics.totals"
RUN_METRIC_QUERIES = (ADD_RUN_COUNTS, RUN_TOTALS)

# A process that has runs reports every few seconds; of one that was silent for so long, none is under way.
SILENT_AFTER_MS = 30_000
# Reports of a source that was silent for so long are not repeated any more.
FORGET_SOURCES_MS = 86_400_000
_MICRO = 1_000_000
# The place of a histogram's sum among its buckets.
_SUM = -1

_ADD = (
    "INSERT INTO run_metrics (metric, labels, bucket, amount) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (metric, labels, bucket) DO UPDATE SET amount = run_metrics.amount + excluded.amount"
)
_SOURCE = (
    "INSERT INTO run_metric_sources (source, number, at_ms, running, queued) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (source) DO UPDATE SET number = excluded.number, at_ms = excluded.at_ms,"
    " running = excluded.running, queued = excluded.queued"
)
Row = tuple[str, str, int, int]


class RunReport(msgspec.Struct, frozen=True):
    """Carries what was counted since the last report, by metric name, and the runs of its sender right now.

    `source` identifies the sender, `number` counts its reports from 1.
    """

    source: str
    number: int
    counters: dict[str, list[Sample]] = {}
    histograms: dict[str, list[HistogramSample]] = {}
    running: int = 0
    queued: int = 0


class RunTotals(msgspec.Struct, frozen=True):
    """Carries the counts of all processes by metric name, and their runs that are under way and that wait for room."""

    counters: dict[str, list[Sample]] = {}
    histograms: dict[str, list[HistogramSample]] = {}
    running: int = 0
    queued: int = 0


class RunMetricsStore:
    """Stores counts; safe to call from several threads of one process, and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        SCHEMA.apply(database)

    def add(self, report: RunReport) -> None:
        """Add the counts of a report, once. Raises StateStorageError."""
        now_ms = self._clock.now_ms()
        with self._database.transaction("count events of runs") as changes:
            known = changes.rows("SELECT number FROM run_metric_sources WHERE source = ?", (report.source,))
            if not known or int(known[0][0]) < report.number:
                changes.execute_all(_ADD, [row for rows in _rows(report, changes) for row in rows])
            of_source = (report.source, report.number, now_ms, report.running, report.queued)
            changes.execute(_SOURCE, of_source)
            changes.execute("DELETE FROM run_metric_sources WHERE at_ms < ?", (now_ms - FORGET_SOURCES_MS,))

    def totals(self) -> RunTotals:
        """Return all counts, and the runs of the sources that reported lately. Raises StateStorageError."""
        alive = "SELECT running, queued FROM run_metric_sources WHERE at_ms >= ?"
        with self._database.read() as queries:
            rows = queries.rows("SELECT metric, labels, bucket, amount FROM run_metrics ORDER BY metric, labels")
            sources = queries.rows(alive, (self._clock.now_ms() - SILENT_AFTER_MS,))
        found: dict[str, dict[str, dict[int, int]]] = {}
        for metric, labels, bucket, amount in rows:
            found.setdefault(str(metric), {}).setdefault(str(labels), {})[int(bucket)] = int(amount)
        return RunTotals(
            {
                each.name: [Sample(_named(each, labels), of[0]) for labels, of in found.get(each.name, {}).items()]
                for each in metrics_of("runs", CounterMetric)
            },
            {
                each.name: [_histogram(each, labels, of) for labels, of in found.get(each.name, {}).items()]
                for each in metrics_of("runs", HistogramMetric)
            },
            sum(int(running) for running, _ in sources),
            sum(int(queued) for _, queued in sources),
        )


def _rows(report: RunReport, changes: Transaction) -> Iterator[list[Row]]:
    """Yield the rows of each metric of a report, under labels that are bounded together with those of the store.

    All processes add rows in the same order, so that none waits for another in a circle.
    """
    for counter in metrics_of("runs", CounterMetric):
        if samples := report.counters.get(counter.name):
            bounds = _bounds(counter, changes)
            yield sorted((counter.name, _key(counter, each, bounds), 0, each.value) for each in samples)
    for histogram in metrics_of("runs", HistogramMetric):
        if values := report.histograms.get(histogram.name):
            bounds = _bounds(histogram, changes)
            keyed = [(_key(histogram, each, bounds), each) for each in values]
            yield sorted(
                (histogram.name, key, bucket, amount)
                for key, each in keyed
                for bucket, amount in ((_SUM, round(each.total * _MICRO)), *enumerate(each.counts))
                if amount
            )


def _bounds(metric: CounterMetric | HistogramMetric, changes: Transaction) -> BoundedLabels:
    bounds = BoundedLabels(metric.labels)
    known = changes.rows("SELECT DISTINCT labels FROM run_metrics WHERE metric = ?", (metric.name,))
    bounds.learn(tuple(json.loads(labels)) for (labels,) in known)
    return bounds


def _key(metric: CounterMetric | HistogramMetric, sample: Sample | HistogramSample, bounds: BoundedLabels) -> str:
    values = tuple(sample.labels[label] for label in metric.labels)
    return json.dumps(bounds.bounded(values))


def _named(metric: CounterMetric | HistogramMetric, labels: str) -> dict[str, str]:
    return dict(zip(metric.labels, json.loads(labels), strict=True))


def _histogram(metric: HistogramMetric, labels: str, amounts: dict[int, int]) -> HistogramSample:
    counts = [amounts.get(bucket, 0) for bucket in range(len(metric.bounds) + 1)]
    return HistogramSample(_named(metric, labels), counts, amounts.get(_SUM, 0) / _MICRO)


def run_metric_queries(store: RunMetricsStore) -> dict[str, QueryHandler]:
    """Return the store's handlers: `metrics.add` {report} → {}, `metrics.totals` {} → {totals}."""

    async def add(body: dict[str, Any]) -> dict[str, Any]:
        store.add(msgspec.convert(body["report"], RunReport))
        return {}

    async def totals(_body: dict[str, Any]) -> dict[str, Any]:
        return {"totals": msgspec.to_builtins(store.totals())}

    return dict(zip(RUN_METRIC_QUERIES, (add, totals), strict=True))


SCHEMA = Schema(
    "run_metrics",
    (
        (
            "CREATE TABLE run_metrics (metric TEXT NOT NULL, labels TEXT NOT NULL, bucket BIGINT NOT NULL,"
            " amount BIGINT NOT NULL, PRIMARY KEY (metric, labels, bucket))",
            "CREATE TABLE run_metric_sources (source TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL,"
            " at_ms BIGINT NOT NULL, running BIGINT NOT NULL, queued BIGINT NOT NULL)",
        ),
    ),
)

# Nothing for `jeeves gc`: the number of rows is bounded.
RUN_METRICS = StorePart(
    name="run_metrics",
    label="run metrics",
    schema=SCHEMA,
    open=RunMetricsStore,
    queries=RUN_METRIC_QUERIES,
    handlers=run_metric_queries,
    is_disposable=True,
    cost_of_loss="the metrics of runs count from zero",
)
