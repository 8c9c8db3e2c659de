"""What the recorded events of runs add to the metrics, whichever process drives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import StateStorageError
from runtime.hosting.run_meter import REPORT_EVERY_S, RunMeter
from runtime.hosting.run_table import RunTable
from runtime.memory.run_metrics import SILENT_AFTER_MS, RunMetricsStore, RunReport, RunTotals
from runtime.primitives.clock import FakeClock
from runtime.primitives.counters import (
    MAX_LABEL_CHARS,
    MAX_VALUES_PER_LABEL,
    OTHER,
    HistogramSample,
    LabelledCounter,
    LabelledHistogram,
    Sample,
)
from runtime.primitives.ids import RunId
from runtime.primitives.metrics import RETRIES, STAGE_S
from runtime.run.envelope import Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.events import StageFailed, StageStarted
from runtime.supervision.run_counts import MOST_OF_ONE
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.hosted import Hosted

MEASURED = (
    PipelineBuilder("sample", max_iterations=9)
    .stage("plan", default_next="judge", max_retries=1, measures={"step_attempts": "attempts"})
    .stage(
        "judge",
        default_next="tell",
        measures={
            "verdict": "verdict",
            "confidence": "confidence",
            "retries": {"field": "route", "kinds": {"back": "reintent"}, "reason": "because"},
        },
    )
    .rule("route", "back", "plan")
    .stage("tell", measures={"issues": "dropped"})
    .build()
)
TIMED_OUT = {"strategy": "as_asked", "status": "timeout"}
ATTEMPTS = {
    "step-1": [TIMED_OUT, {"strategy": "reduced", "status": "ok"}],
    "step-2": [TIMED_OUT, {"strategy": "skipped", "status": "timeout"}],
    "step-3": [{"strategy": "as_asked", "status": "ok"}],
}
BACK = {"verdict": "reintent", "route": "back", "because": "stuck", "confidence": 0.25}
APPROVED = {"verdict": "approved", "route": "complete", "confidence": 0.75}
SIMPLE: dict[str, Any] = {"plan": [{}], "judge": [APPROVED], "tell": [{"dropped": {}}]}


class Metrics:
    """A store of metrics, and what it has by name and values of labels: counts, or the number of observed values."""

    def __init__(self, folder: Path, clock: FakeClock | None = None) -> None:
        self.store = RunMetricsStore(
            SqliteDatabase(folder / "run_metrics.sqlite", label="run metrics"), clock or FakeClock()
        )
        self.reports: list[RunReport] = []

    def keep(self, report: RunReport) -> None:
        """Take a report as the bus would carry it."""
        self.reports.append(report)
        self.store.add(msgspec.convert(msgspec.to_builtins(report), RunReport))

    @property
    def totals(self) -> RunTotals:
        return self.store.totals()

    def shown(self) -> dict[str, float]:
        totals = self.totals
        counted = {_named(name, each.labels): each.value for name, of in totals.counters.items() for each in of}
        observed = {
            _named(name, each.labels): sum(each.counts) for name, of in totals.histograms.items() for each in of
        }
        return {**counted, **observed}


def _named(name: str, labels: Mapping[str, str]) -> str:
    return " ".join((name, *labels.values()))


@pytest.fixture
def metrics(tmp_path: Path) -> Metrics:
    return Metrics(tmp_path)


async def test_the_events_of_a_run_count_under_every_name(metrics: Metrics) -> None:
    scripts: dict[str, Any] = {
        "plan": [ValueError("broken"), {"attempts": ATTEMPTS}, {"attempts": {}}],
        "judge": [BACK, APPROVED],
        "tell": [{"dropped": {"not_in_file": 2, "no_such_file": 0}}],
    }
    hosted = Hosted(MEASURED, scripts, keep_metrics=metrics.keep)
    await hosted.settle(await hosted.submit())
    await hosted.runner.close()
    shown = metrics.shown()
    assert shown.pop("jeeves_store_write_seconds") > 0
    assert shown == {
        "orchestrator_requests completed": 1,
        "orchestrator_request_latency_seconds": 1,
        "critic_decisions reintent": 1,
        "critic_decisions approved": 1,
        "critic_decision_confidence": 2,
        "meta_validator_reports issues": 1,
        "meta_validator_issue_detections not_in_file": 2,
        "workflow_retry_attempts plan stage": 1,
        "workflow_retry_attempts plan step": 1,
        "workflow_retry_attempts judge reintent": 1,
        "workflow_retry_reasons internal": 1,
        "workflow_retry_reasons timeout": 1,
        "workflow_retry_reasons stuck": 1,
        "jeeves_hops": 5,
        "jeeves_stage_seconds plan error": 1,
        "jeeves_stage_seconds plan success": 2,
        "jeeves_stage_seconds judge success": 2,
        "jeeves_stage_seconds tell success": 1,
    }
    assert (metrics.totals.running, metrics.totals.queued) == (0, 0)


@pytest.mark.parametrize(
    ("statuses", "reasons"),
    [
        (("ok", "ok", "partial", "ok", "empty"), []),
        (("empty", "empty", "ok", "ok"), ["empty", "empty"]),
        (("not_found", "ok"), ["not_found"]),
        (("ok", "error", "partial"), ["error"]),
    ],
)
async def test_only_an_attempt_after_one_without_a_usable_result_is_a_repetition(
    metrics: Metrics, statuses: tuple[str, ...], reasons: list[str]
) -> None:
    attempts = {"step": [{"strategy": f"way-{at}", "status": status} for at, status in enumerate(statuses)]}
    hosted = Hosted(MEASURED, {**SIMPLE, "plan": [{"attempts": attempts}]}, keep_metrics=metrics.keep)
    await hosted.run()
    hosted.runner.report_metrics()
    shown = metrics.shown()
    assert shown.get("workflow_retry_attempts plan step", 0) == len(reasons)
    told = {name: count for name, count in shown.items() if name.startswith("workflow_retry_reasons")}
    assert told == {f"workflow_retry_reasons {reason}": reasons.count(reason) for reason in reasons}


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"verdict": 7, "confidence": "high", "route": ["back"], "dropped": ["a"], "attempts": "x"},
        {"verdict": "", "confidence": True, "route": None, "dropped": 3, "attempts": {"step": [1, None, "x"]}},
        {"verdict": {}, "confidence": None, "dropped": None, "attempts": {"step": {"a": 1}}},
    ],
)
async def test_fields_of_another_kind_count_nothing(metrics: Metrics, output: dict[str, Any]) -> None:
    hosted = Hosted(MEASURED, {stage: [output] for stage in ("plan", "judge", "tell")}, keep_metrics=metrics.keep)
    assert (await hosted.run()).terminal_reason == "completed"
    hosted.runner.report_metrics()
    others = ("orchestrator", "jeeves_")
    assert [name for name in metrics.shown() if not name.startswith(others)] == []


async def test_a_claimed_number_of_issues_is_believed_up_to_a_bound(metrics: Metrics) -> None:
    claimed = {"most": MOST_OF_ONE, "more": MOST_OF_ONE + 1, "huge": 2**63 - 1, "less": -1}
    hosted = Hosted(MEASURED, {**SIMPLE, "tell": [{"dropped": claimed}]}, keep_metrics=metrics.keep)
    await hosted.run()
    hosted.runner.report_metrics()
    assert [sample.labels["kind"] for sample in metrics.totals.counters["meta_validator_issue_detections"]] == ["most"]


async def test_a_run_that_is_taken_up_again_is_not_counted_again(tmp_path: Path) -> None:
    """Another process folds the same events again; only those that it records itself are new."""
    log, first, second = MemoryRunLog(), Metrics(tmp_path), Metrics(tmp_path)
    hosted = Hosted(MEASURED, SIMPLE, log=log, keep_metrics=first.keep)
    envelope = await hosted.run()
    hosted.runner.report_metrics()
    before = first.shown()
    successor = Hosted(MEASURED, SIMPLE, log=log, keep_metrics=second.keep)
    assert successor.runner.envelope(envelope.run_id).lifecycle == "terminated"
    successor.runner.report_metrics()
    assert second.shown() == before


def test_events_that_could_not_be_recorded_count_nothing_until_they_are() -> None:
    log, meter = FailingLog(), RunMeter()
    table = RunTable({"sample": MEASURED}, log, FakeClock(), meter=meter)
    run_id, commands = table.submit(Request("sample", "?"))
    key = next(command.key for command in commands if hasattr(command, "key"))
    reported = meter.report(1, 0)
    assert reported is not None
    meter.sent(reported)
    log.fails = True
    with pytest.raises(StateStorageError):
        table.handle(run_id, StageFailed(key, "internal", "broken"))
    with pytest.raises(StateStorageError), table.together():
        table.handle(run_id, StageStarted(key))
    log.fails = False
    again = meter.report(1, 0)
    assert again is not None and not again.counters and not again.histograms
    meter.sent(again)
    with table.together():
        table.handle(run_id, StageFailed(key, "internal", "broken"))
    now = meter.report(1, 0)
    assert now is not None and now.counters[RETRIES.name] == [Sample({"stage": "plan", "kind": "stage"}, 1)]


class FailingLog(MemoryRunLog):
    """A log that fails when it is told to, with nothing kept."""

    fails = False

    def append_all(self, entries: Any, epoch: int | None = None) -> None:
        if self.fails:
            raise StateStorageError("the disk is full", reason="full")
        super().append_all(entries, epoch)


def test_a_report_is_the_same_until_it_arrived_and_is_added_once(metrics: Metrics) -> None:
    meter = RunMeter()
    assert meter.report(0, 0) is None
    meter.wrote(0.1)
    report = meter.report(2, 1)
    assert report is not None
    meter.wrote(0.1)
    assert meter.report(0, 0) is report
    metrics.keep(report)
    metrics.keep(report)
    meter.sent(report)
    following = meter.report(1, 0)
    assert following is not None and following.number == 2
    metrics.keep(following)
    metrics.keep(report)
    assert metrics.shown() == {"jeeves_store_write_seconds": 2}
    assert metrics.totals.histograms["jeeves_store_write_seconds"][0].total == pytest.approx(0.2)


def test_a_process_without_news_reports_only_that_its_last_run_is_over() -> None:
    meter = RunMeter()
    for running, is_reported in ((1, True), (1, True), (0, True), (0, False)):
        report = meter.report(running, 0)
        assert (report is not None) == is_reported
        if report is not None:
            meter.sent(report)


async def test_runs_of_a_process_that_fell_silent_are_not_under_way(tmp_path: Path) -> None:
    clock = FakeClock(1_000_000)
    metrics = Metrics(tmp_path, clock)
    metrics.keep(RunReport("killed", 1, running=3, queued=2))
    await clock.advance(SILENT_AFTER_MS / 1000)
    metrics.keep(RunReport("alive", 1, running=1))
    assert (metrics.totals.running, metrics.totals.queued) == (4, 2)
    await clock.advance(0.001)
    assert (metrics.totals.running, metrics.totals.queued) == (1, 0)


async def test_a_long_run_reports_while_it_goes_on(metrics: Metrics) -> None:
    hosted = Hosted(MEASURED, {**SIMPLE, "plan": [ValueError("broken")]}, keep_metrics=metrics.keep)
    await hosted.clock.advance(REPORT_EVERY_S)
    await hosted.submit()
    assert metrics.totals.running == 1


def test_ten_thousand_stage_names_in_several_processes_stay_within_the_bound(metrics: Metrics) -> None:
    for process in range(3):
        names = [f"stage_{process}_{number}" for number in range(10_000)]
        counter, histogram = LabelledCounter.of(RETRIES), LabelledHistogram.of(STAGE_S)
        for name in names:
            counter.add(name, "stage")
            histogram.observe(0.1, name, "success")
        assert len(counter.samples()) == len(histogram.samples()) == MAX_VALUES_PER_LABEL + 1
        report = RunReport(
            f"process-{process}", 1, {RETRIES.name: counter.samples()}, {STAGE_S.name: histogram.samples()}
        )
        metrics.keep(report)
    for samples in (metrics.totals.counters[RETRIES.name], metrics.totals.histograms[STAGE_S.name]):
        stages = {sample.labels["stage"] for sample in samples}
        assert len(stages) == MAX_VALUES_PER_LABEL + 1 and OTHER in stages
    assert sum(sample.value for sample in metrics.totals.counters[RETRIES.name]) == 30_000
    assert metrics.shown()[f"{STAGE_S.name} {OTHER} success"] == 30_000 - MAX_VALUES_PER_LABEL


def test_a_long_value_of_a_label_is_cut(metrics: Metrics) -> None:
    counter = LabelledCounter("n", "help", ("kind",))
    counter.add("x" * MAX_LABEL_CHARS + "y")
    assert counter.samples() == [Sample({"kind": "x" * MAX_LABEL_CHARS}, 1)]
    metrics.keep(RunReport("a", 1, histograms={STAGE_S.name: [HistogramSample(_long(), [1, 0], 0.5)]}))
    assert len(metrics.totals.histograms[STAGE_S.name][0].labels["stage"]) == MAX_LABEL_CHARS


def _long() -> dict[str, str]:
    return {"stage": "s" * 10_000, "status": "success"}


def test_a_run_id_is_no_label() -> None:
    """Whatever a run is called, it adds nothing to the labels."""
    meter = RunMeter()
    table = RunTable({"sample": MEASURED}, MemoryRunLog(), FakeClock(), meter=meter)
    table.submit(Request("sample", "?"), RunId("r-7d1e"))
    assert "r-7d1e" not in msgspec.json.encode(meter.report(1, 0)).decode()
