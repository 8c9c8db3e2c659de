"""A request may name the mode in which its pipeline runs: checked at the door, recorded, and the same in a replay."""

from __future__ import annotations

import pytest

from runtime.errors import InputError
from runtime.hosting.run_table import RunTable
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import FakeClock
from runtime.run.envelope import Request
from runtime.settings import shipped_config_dir
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.event_log import event_log
from runtime.supervision.replay import explain
from runtime.testing import Bench, PipelineBuilder, replay, wire_form

LINE = PipelineBuilder().stage("a", default_next="b").stage("b", default_next="c").stage("c")
PAIR = PipelineBuilder.parallel().stage("a").stage("b").stage("both", requires=["a", "b"])
ORDERED = PipelineBuilder.parallel().stage("a").stage("b", after=["a"]).stage("c", requires=["a", "b"])


def runs_of(config: PipelineConfig) -> tuple[RunTable, MemoryRunLog]:
    log = MemoryRunLog()
    return RunTable({config.name: config}, log, FakeClock()), log


def test_a_request_without_a_mode_runs_as_its_pipeline_is_configured() -> None:
    bench = Bench(PAIR.build())
    bench.request()
    assert bench.at_work == ["a", "b"]


@pytest.mark.parametrize(("mode", "at_work"), [("parallel", ["a", "b"]), ("sequential", ["a"]), (None, ["a"])])
def test_a_request_runs_in_the_mode_that_it_names(mode: str | None, at_work: list[str]) -> None:
    config = PipelineBuilder().stage("a", default_next="c").stage("b", default_next="c").stage("c").data
    bench = Bench(PipelineConfig.model_validate(config))
    bench.request(run_mode=mode)
    assert bench.at_work == at_work
    assert bench.envelope.request.run_mode == mode


def test_the_mode_is_recorded_and_a_replay_runs_in_it() -> None:
    bench = Bench(PipelineConfig.model_validate(PipelineBuilder().stage("a").stage("b").data))
    bench.request(run_mode="parallel")
    bench.succeed(stage="b")
    bench.succeed(stage="a")
    assert bench.reason == "completed"
    assert wire_form(replay(bench.config, bench.log)[-1].state) == wire_form(bench.state)
    assert next(event_log(bench.config, bench.log)).payload["run_mode"] == "parallel"
    assert explain(bench.config, bench.log)[-1].why == "'a' succeeded and routes nowhere; what requires it may start"


@pytest.mark.parametrize(
    ("builder", "mode", "says"),
    [
        (PAIR, "sequential", "agents[2]: stage 'both' cannot be reached from 'a'"),
        (ORDERED, "sequential", "agents[1].after: only orders in a parallel pipeline"),
    ],
)
def test_a_mode_that_the_pipeline_cannot_run_in_is_refused_before_anything_is_recorded(
    builder: PipelineBuilder, mode: str, says: str
) -> None:
    runs, log = runs_of(builder.build())
    with pytest.raises(InputError) as caught:
        runs.submit(Request("sample", "?", run_mode=mode))  # type: ignore[arg-type]
    assert caught.value.message.startswith(f"run_mode: the pipeline 'sample' cannot run {mode}: ")
    assert says in caught.value.message
    assert caught.value.message.endswith("; leave run_mode out, or ask for parallel")
    assert log.runs(9) == []


def test_a_mode_that_there_is_not_is_refused() -> None:
    runs, log = runs_of(LINE.build())
    with pytest.raises(InputError, match="run_mode"):
        runs.submit(Request("sample", "?", run_mode="sideways"))  # type: ignore[arg-type]
    assert log.runs(9) == []


def test_a_mode_is_part_of_neither_the_pipeline_nor_its_version() -> None:
    config = LINE.build()
    assert config.in_run_mode(None) is config.in_run_mode("sequential") is config
    assert config.in_run_mode("parallel").is_parallel
    runs, log = runs_of(config)
    run_id, _ = runs.submit(Request("sample", "?", run_mode="parallel"))
    assert log.events(run_id)[0].payload.config_hash == config.config_hash  # type: ignore[union-attr]
    again, _ = runs_of(config)
    assert dict(RunTable({"sample": config}, log, FakeClock()).recover())
    assert runs.rules_of(run_id) == config
    assert again.running == 0


@pytest.mark.parametrize("name", ["code_analysis", "code_analysis_hedged"])
def test_the_pipelines_that_ship_run_in_the_mode_that_they_are_made_for(name: str) -> None:
    config = load_pipeline(shipped_config_dir() / "pipelines" / f"{name}.yaml")
    runs, _ = runs_of(config)
    assert runs.submit(Request(name, "?", run_mode=config.default_run_mode))
