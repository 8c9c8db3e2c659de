"""The outputs of stages are found by the numbers of the events that tell of their ends."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.run.policy_verdict import PolicyVerdict
from runtime.supervision.events import Event, StageSucceeded
from runtime.supervision.replay import client_events_of
from runtime.supervision.stage_outputs import StageOutputs, has_output
from runtime.testing import Bench, PipelineBuilder
from tests.runtime.hosting.recorded import KINDS


def found(bench: Bench) -> list[dict[str, Any]]:
    return list(StageOutputs(bench.config).read(bench.log).values())


def ends(bench: Bench, log: list[Event]) -> list[int]:
    return [event.seq for event in client_events_of(bench.config, log) if has_output(event)]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_result_of_a_run_is_found_however_its_log_is_read(kind: str) -> None:
    source = await KINDS[kind]()
    config, log = source.kit.config, source.kit.log.events(source.run_id)
    whole = StageOutputs(config).read(log)
    numbers = [event.seq for event in client_events_of(config, log) if has_output(event)]
    assert sorted(whole) == numbers
    given = [event.payload.output for event in log if isinstance(event.payload, StageSucceeded)]
    assert all(output in given for output in whole.values())
    by_one, by_halves = StageOutputs(config), StageOutputs(config)
    pieces: dict[int, dict[str, Any]] = {}
    for event in log:
        pieces |= by_one.read([event])
    assert pieces == whole
    assert by_halves.read(log[: len(log) // 2]) | by_halves.read(log[len(log) // 2 :]) == whole
    assert by_halves.read([]) == {}


def test_each_item_of_a_fan_out_has_its_own_output() -> None:
    builder = PipelineBuilder().stage("list", default_next="each")
    builder.stage("each", foreach="outputs.list.items", foreach_concurrency=2, default_next="sum")
    bench = Bench(builder.stage("sum").build())
    bench.request()
    bench.succeed({"items": ["x", "y"]})
    bench.succeed({"n": "of y"}, item=1)
    bench.succeed({"n": "of x"}, item=0)
    assert found(bench) == [{"items": ["x", "y"]}, {"n": "of y"}, {"n": "of x"}]
    told = [event for event in client_events_of(bench.config, bench.log) if event.data.get("item") is not None]
    assert [event.data["item"] for event in told if has_output(event)] == [1, 0]


@pytest.mark.parametrize(
    ("decision", "outputs"), [("approved", [{"x": 1}]), ("requires_confirmation", [{"x": 1}]), ("denied", [])]
)
def test_what_a_policy_denied_is_not_handed_out(decision: Any, outputs: list[Any]) -> None:
    bench = Bench(PipelineBuilder().stage("a", has_policies=True, default_next="b").stage("b").build())
    bench.request(wait=True)
    bench.succeed({"x": 1}, policy=PolicyVerdict(decision, "so"))
    assert found(bench) == outputs


def test_a_result_that_lacks_what_the_pipeline_requires_is_no_output() -> None:
    config = PipelineBuilder().stage("a", required_output_fields=["x"], error_next="b").stage("b").build()
    bench = Bench(config)
    bench.request()
    bench.succeed({"y": 1})
    assert found(bench) == []
    bench.succeed({"y": 2})
    assert found(bench) == [{"y": 2}]
    assert ends(bench, bench.log) == sorted(StageOutputs(config).read(bench.log))
