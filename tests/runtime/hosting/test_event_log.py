"""The event log of a run: every entry of its log is in it, in order, under the agent whose doing it was."""

from __future__ import annotations

import json

import msgspec
import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalsPatch
from runtime.supervision.event_log import LoggedEvent, event_log
from runtime.supervision.events import StageSucceeded, StageUsage
from runtime.testing import Bench, PipelineBuilder
from tests.runtime.hosting.recorded import KINDS


def line() -> PipelineConfig:
    return PipelineBuilder().stage("a", default_next="b").stage("b").build()


def told(bench: Bench) -> list[tuple[str, str | None]]:
    return [(entry.event_type, entry.agent) for entry in event_log(bench.config, bench.log)]


def of_type(bench: Bench, event_type: str) -> list[dict[str, object]]:
    return [entry.payload for entry in event_log(bench.config, bench.log) if entry.event_type == event_type]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_entry_of_a_log_is_told_in_order_and_the_end_once(kind: str) -> None:
    source = await KINDS[kind]()
    log = source.kit.log.events(source.run_id)
    entries = list(event_log(source.kit.config, log))
    places = [int(entry.event_id.rsplit(":", 1)[1].split(".")[0]) for entry in entries]
    assert sorted(set(places)) == [event.seq for event in log]
    assert places == sorted(places)
    assert len({entry.event_id for entry in entries}) == len(entries)
    at = {event.seq: event.at_ms for event in log}
    assert [entry.timestamp_ms for entry in entries] == [at[seq] for seq in places]
    envelope = source.kit.runner.envelope(source.run_id)
    ends = [entry.payload["terminal_reason"] for entry in entries if entry.event_type == "response"]
    assert ends == [envelope.terminal_reason]
    assert {entry.envelope_id for entry in entries} == {source.run_id}
    assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(entries))), list[LoggedEvent]) == entries


def test_a_run_is_told_from_its_request_to_its_response() -> None:
    bench = Bench(line())
    bench.request()
    bench.succeed({"x": 1})
    bench.succeed({})
    assert told(bench) == [
        ("request", None),
        ("stage_transition", "a"),
        ("stage_transition", "a"),
        ("stage_transition", "b"),
        ("stage_transition", "b"),
        ("response", None),
    ]
    assert [payload["to"] for payload in of_type(bench, "stage_transition")] == [
        "issued",
        "succeeded",
        "issued",
        "succeeded",
    ]


def test_model_calls_and_goals_of_a_result_are_entries_of_their_own() -> None:
    bench = Bench(line())
    bench.request()
    patch = GoalsPatch(add=(Goal(GoalId("g"), "find it"),))
    bench.happen(StageSucceeded(bench.flying.key, {}, patch, usage=StageUsage(2, 0, 30, 5)))
    assert told(bench)[2:5] == [("llm_call", "a"), ("goal_update", "a"), ("stage_transition", "a")]
    assert of_type(bench, "llm_call") == [{"calls": 2, "tokens_in": 30, "tokens_out": 5}]
    assert of_type(bench, "goal_update") == [{"add": [{"id": "g", "text": "find it"}]}]


def test_a_failure_is_an_error_of_its_agent() -> None:
    bench = Bench(line())
    bench.request()
    bench.fail("tool", "no disk")
    errors = [entry for entry in event_log(bench.config, bench.log) if entry.event_type == "error"]
    assert [(entry.agent, entry.payload["kind"], entry.payload["error"]) for entry in errors] == [
        ("a", "tool", "no disk")
    ]


def test_an_agent_that_was_lost_is_an_error_under_its_name() -> None:
    bench = Bench(line())
    bench.request()
    bench.lose("a")
    assert ("error", "a") in told(bench)


def test_a_run_that_is_held_tells_what_it_asks() -> None:
    bench = Bench(line())
    bench.request()
    bench.pause("lunch")
    bench.succeed({})
    assert [payload["question"] for payload in of_type(bench, "interrupt")] == ["lunch"]
