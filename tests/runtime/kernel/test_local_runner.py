"""Whole runs in one process: the kernel, real agents and a real log; scripts for models, a clock turned by hand."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.agents.stage_runner import MAX_OUTPUT_BYTES
from runtime.errors import StateStorageError, ToolFailedError, UnknownNameError
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import StageView
from runtime.testing import START_MS, PipelineBuilder, ScriptedAgent, hang, replay, scripted_runner
from runtime.tools.registry import Tool
from runtime.tools.result import ToolResult
from tests.runtime.full_log import FullLog

TWO = """
name: two
max_iterations: 2
agents:
  - name: ask
    stage_order: 1
    default_next: judge
  - name: judge
    stage_order: 2
    routing_rules:
      - {condition: good, value: false, target: ask}
"""


async def test_a_pipeline_of_yaml_runs_with_scripts_to_its_end() -> None:
    kit = scripted_runner(TWO, {"ask": [{"n": 1}, {"n": 2}], "judge": [{"good": False}, {"good": True}]})
    envelope = await kit.run("why?", metadata={"repo": "/r"})
    assert envelope.terminal_reason == "completed"
    assert [str(record.stage) for record in envelope.history] == ["ask", "judge", "ask", "judge"]
    assert envelope.outputs == {"ask": {"n": 2}, "judge": {"good": True}}
    assert envelope.usage.iterations == 1
    assert kit.agents["judge"].views[1].outputs == {"ask": {"n": 2}, "judge": {"good": False}}
    assert [key.hop for key in kit.agents["ask"].keys] == [1, 3]


async def test_a_loop_that_never_is_good_ends_at_its_bound() -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{"good": False}]})
    assert (await kit.run()).terminal_reason == "max_iterations_exceeded"
    assert kit.agents["ask"].calls == 3


async def test_the_log_of_a_run_replays_to_its_envelope() -> None:
    kit = scripted_runner(TWO, {"ask": [{"n": (1, 2)}], "judge": [{"good": False}, {"good": True}]})
    envelope = await kit.run()
    assert replay(kit.config, kit.log.events(envelope.run_id))[-1].state.envelope == envelope


async def test_a_watcher_sees_every_event_and_can_begin_again_from_any_number() -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{"good": True}]})
    envelope = await kit.run()
    events = await kit.events(envelope.run_id)
    assert [event.type for event in events] == [
        "run.accepted",
        "stage.started",
        "stage.finished",
        "stage.started",
        "stage.finished",
        "run.finished",
    ]
    for after in range(len(events) + 1):
        assert await kit.events(envelope.run_id, after) == events[after:]


async def test_a_client_event_always_says_its_schema_version() -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{}]})
    events = await kit.events((await kit.run()).run_id)
    assert all(msgspec.json.decode(msgspec.json.encode(event))["schema_version"] == 1 for event in events)


async def test_many_runs_at_once_do_not_mix() -> None:
    async def echo(_context: StageContext, view: StageView) -> StageResult:
        await asyncio.sleep(0)
        return StageResult({"heard": view.raw_input, "good": True})

    kit = scripted_runner(TWO, {"ask": [echo], "judge": [echo]})
    envelopes = await asyncio.gather(*(kit.run(f"question {n}") for n in range(30)))
    assert [envelope.outputs["judge"]["heard"] for envelope in envelopes] == [f"question {n}" for n in range(30)]
    assert len({envelope.run_id for envelope in envelopes}) == 30


async def test_goals_travel_from_stage_to_stage() -> None:
    added = StageResult({}, GoalsPatch(add=(Goal(GoalId("g"), "find"),)))
    kit = scripted_runner(TWO, {"ask": [added], "judge": [{}]})
    await kit.run()
    assert [goal.text for goal in kit.agents["judge"].views[0].goals.goals] == ["find"]


async def test_an_unknown_pipeline_is_refused() -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{}]})
    with pytest.raises(UnknownNameError):
        await kit.runner.submit(msgspec.structs.replace(kit.request(), pipeline="three"))


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (ValueError("odd"), "ValueError: odd"),
        (None, "returned a NoneType"),
        ({"x": object()}, "cannot be put on the wire"),
        ({"x": "y" * MAX_OUTPUT_BYTES}, f"limit {MAX_OUTPUT_BYTES}"),
        (asyncio.CancelledError(), "though the stage was not"),
        (SystemExit(1), "SystemExit: 1"),
    ],
    ids=["raises", "wrong type", "not serialisable", "too big", "cancels itself", "exits"],
)
async def test_a_hook_that_misbehaves_fails_its_stage_and_the_run_says_how(step: Any, says: str) -> None:
    kit = scripted_runner(TWO, {"ask": [step], "judge": [{}]})
    envelope = await kit.run()
    assert envelope.terminal_reason == "internal_error"
    assert says in str(envelope.terminal_detail)
    assert kit.agents["judge"].calls == 0


async def test_a_hook_that_misbehaves_once_is_retried_after_its_backoff() -> None:
    text = PipelineBuilder().stage("a", max_retries=1).yaml()
    kit = scripted_runner(text, {"a": [ToolFailedError("busy", recoverable=True), {"x": 1}]})
    envelope = await kit.run_through_time(step_s=0.25)
    assert envelope.terminal_reason == "completed"
    assert [(record.attempt, record.status) for record in envelope.history] == [(1, "error"), (2, "success")]
    waited_ms = envelope.history[1].started_at_ms - envelope.history[0].started_at_ms
    assert 750 <= waited_ms <= 1_000


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_a_hook_that_always_fails_is_called_once_and_max_retries_times_again(retries: int) -> None:
    text = PipelineBuilder().stage("a", max_retries=retries).yaml()
    kit = scripted_runner(text, {"a": [ToolFailedError("broken")]})
    envelope = await kit.run_through_time(step_s=5)
    assert kit.agents["a"].calls == retries + 1
    assert envelope.terminal_reason == "tool_failed_fatally"


async def test_an_error_route_lets_the_run_go_on_without_the_failed_output() -> None:
    text = PipelineBuilder().stage("a", error_next="b").stage("b").yaml()
    kit = scripted_runner(text, {"a": [ValueError("odd")], "b": [{"ok": True}]})
    envelope = await kit.run()
    assert envelope.terminal_reason == "completed"
    assert envelope.outputs == {"b": {"ok": True}}
    assert envelope.errors == ("a: ValueError: odd",)


async def test_a_hook_that_hangs_is_cancelled_at_its_timeout_and_retried() -> None:
    stopped: list[bool] = []

    async def hang_and_tell(context: StageContext, view: StageView) -> StageResult:
        try:
            return await hang(context, view)
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    text = PipelineBuilder().stage("a", timeout_s=30, max_retries=1).yaml()
    kit = scripted_runner(text, {"a": [hang_and_tell, {"x": 1}]})
    run = asyncio.create_task(kit.run())
    await kit.clock.advance(29.999)
    assert not stopped
    await kit.clock.advance(0.001)
    assert stopped
    await kit.clock.advance(1)
    envelope = await run
    assert [(record.status, record.duration_ms) for record in envelope.history] == [("error", 30_000), ("success", 0)]
    assert envelope.terminal_reason == "completed"


async def test_a_hook_that_ignores_its_cancellation_changes_nothing_with_its_late_result() -> None:
    released = asyncio.Event()

    async def stubborn(_context: StageContext, _view: StageView) -> StageResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await released.wait()
        return StageResult({"late": True})

    text = PipelineBuilder().stage("a", timeout_s=5, error_next="b").stage("b").yaml()
    kit = scripted_runner(text, {"a": [stubborn], "b": [hang, {}]})
    run_id = await kit.runner.submit(kit.request())
    await kit.clock.advance(6)
    released.set()
    await kit.clock.advance(1)
    assert kit.runner.envelope(run_id).current_stage == "b"
    assert kit.runner.envelope(run_id).outputs == {}
    await kit.runner.close()


async def test_cancelling_a_run_stops_the_hook_and_keeps_what_was_finished() -> None:
    heard: list[str] = []

    async def wait_for_it(context: StageContext, view: StageView) -> StageResult:
        try:
            return await hang(context, view)
        finally:
            heard.append(str(context.key))

    kit = scripted_runner(TWO, {"ask": [{"n": 1}], "judge": [wait_for_it]})
    run_id = await kit.runner.submit(kit.request())
    await kit.clock.advance(1)
    await kit.runner.cancel(run_id, "enough")
    await kit.clock.advance(0)
    envelope = kit.runner.envelope(run_id)
    assert (envelope.terminal_reason, envelope.terminal_detail) == ("user_cancelled", "enough")
    assert envelope.outputs == {"ask": {"n": 1}}
    assert heard == [f"{run_id}/2/0/1"]
    assert (await kit.events(run_id))[-1].type == "run.finished"
    await kit.runner.cancel(run_id)
    assert kit.runner.envelope(run_id) is envelope


async def test_after_the_deadline_the_final_stage_answers_within_its_grace() -> None:
    text = PipelineBuilder(deadline_s=20, final_stage="b").stage("a", default_next="b").stage("b").yaml()
    kit = scripted_runner(text, {"a": [hang], "b": [{"text": "partial"}]})
    run = asyncio.create_task(kit.run())
    await kit.clock.advance(20)
    envelope = await run
    assert envelope.outputs == {"b": {"text": "partial"}}
    assert envelope.terminal_reason == "deadline_exceeded"
    assert kit.agents["b"].views[0].ended_by == "deadline_exceeded"


async def test_a_final_stage_that_hangs_too_is_cut_off_ten_seconds_after_the_deadline() -> None:
    text = PipelineBuilder(deadline_s=20, final_stage="b").stage("a", default_next="b").stage("b").yaml()
    kit = scripted_runner(text, {"a": [hang], "b": [hang]})
    run = asyncio.create_task(kit.run())
    await kit.clock.advance(29.999)
    assert not run.done()
    await kit.clock.advance(0.001)
    assert (await run).finished_at_ms == START_MS + 30_000


async def test_a_deadline_in_the_request_holds_for_a_run() -> None:
    kit = scripted_runner(TWO, {"ask": [hang], "judge": [{}]})
    envelope = await kit.run_through_time(step_s=1, deadline_s=3)
    assert (envelope.terminal_reason, envelope.finished_at_ms) == ("deadline_exceeded", START_MS + 3_000)


class NoParameters(msgspec.Struct, frozen=True):
    """A tool that takes nothing."""


async def test_tool_calls_of_all_stages_and_retries_together_keep_to_the_bound() -> None:
    made: list[str] = []

    def look(_subject: Any, _parameters: Any) -> ToolResult:
        made.append("call")
        return ToolResult("ok")

    async def greedy(context: StageContext, _view: StageView) -> StageResult:
        for _ in range(3):
            await context.tools.call("look", None, {})
        raise ToolFailedError("again")

    text = PipelineBuilder(max_tool_calls=5)
    text.stage("a", max_retries=3, has_tools=True, tool_access="read", allowed_tools=["look"])
    kit = scripted_runner(text.yaml(), {"a": [greedy]}, [Tool("look", "Looks.", NoParameters, look)])
    run = asyncio.create_task(kit.run())
    while not run.done():
        await asyncio.to_thread(int)  # lets the threads of tools finish
        await kit.clock.advance(0.25)
    envelope = run.result()
    assert len(made) == 5
    assert envelope.usage.tool_calls == 5
    events = await kit.events(envelope.run_id)
    assert [event.data["status"] for event in events if event.type == "tool.called"] == ["ok"] * 5 + ["denied"] * 7


@pytest.mark.parametrize("room", [1, 2, 3])
async def test_a_run_whose_log_takes_no_more_raises_and_does_not_hang(
    room: int, caplog: pytest.LogCaptureFixture
) -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{}]}, log=FullLog(room))
    with caplog.at_level(logging.CRITICAL), pytest.raises(StateStorageError, match="disk full"):
        await kit.run()
    await kit.runner.close()


async def test_a_timer_that_cannot_be_recorded_ends_the_waiting_of_a_watcher(caplog: pytest.LogCaptureFixture) -> None:
    kit = scripted_runner(TWO, {"ask": [hang], "judge": [{}]}, log=FullLog(2))
    run = asyncio.create_task(kit.run(deadline_s=1))
    with caplog.at_level(logging.CRITICAL):
        await kit.clock.advance(1)
    with pytest.raises(StateStorageError):
        await run
    await kit.runner.close()


async def test_a_request_that_cannot_be_recorded_is_not_accepted() -> None:
    kit = scripted_runner(TWO, {"ask": [{}], "judge": [{}]}, log=FullLog(0))
    with pytest.raises(StateStorageError):
        await kit.runner.submit(kit.request())
    assert kit.agents["ask"].calls == 0


async def test_closing_stops_what_is_still_running() -> None:
    kit = scripted_runner(TWO, {"ask": [hang], "judge": [{}]})
    await kit.runner.submit(kit.request())
    await kit.clock.advance(1)
    await kit.runner.close()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.done()] == []


async def test_an_agent_with_a_model_plays_its_script_too() -> None:
    text = PipelineBuilder().stage("a", has_llm=True, model_role="fast").yaml()
    assert (await scripted_runner(text, {"a": [{"x": 1}]}).run()).outputs == {"a": {"x": 1}}


def test_scripts_and_stages_must_fit_and_a_script_is_never_empty() -> None:
    with pytest.raises(ValueError, match="differ in judge"):
        scripted_runner(TWO, {"ask": [{}]})
    with pytest.raises(ValueError, match="at least one step"):
        ScriptedAgent([])


steps = st.sampled_from(
    [
        {},
        {"r": 0},
        {"r": 1},
        {"r": 2},
        {"r": [1]},
        ValueError("odd"),
        ToolFailedError("x", recoverable=True),
        None,
        hang,
    ]
)


@settings(max_examples=60)
@given(
    st.lists(st.lists(steps, min_size=1, max_size=4), min_size=3, max_size=3),
    st.integers(0, 8),
    st.integers(0, 2),
    st.integers(0, 3),
    st.none() | st.integers(1, 60),
)
def test_whatever_agents_do_a_run_ends_within_its_bounds_and_its_log_replays_to_it(
    scripts: list[list[Any]], hops: int, retries: int, iterations: int, deadline_s: int | None
) -> None:
    builder = PipelineBuilder(max_agent_hops=hops, max_iterations=iterations, deadline_s=deadline_s, final_stage="c")
    builder.stage("a", default_next="b", max_retries=retries, timeout_s=20).rule("r", 2, "a").edge_limit("a", "a", 1)
    builder.stage("b", default_next="c", error_next="c", timeout_s=10).rule("r", 1, "a", ["a"]).stage("c").rule(
        "r", 0, "b"
    )

    async def whole_run() -> None:
        kit = scripted_runner(builder.yaml(), dict(zip("abc", scripts, strict=True)))
        envelope = await kit.run_through_time(step_s=30)
        decisions = replay(kit.config, kit.log.events(envelope.run_id))
        assert decisions[-1].state.envelope == envelope
        assert envelope.usage.agent_hops <= hops
        assert envelope.usage.iterations <= iterations
        events = await kit.events(envelope.run_id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.type for event in events].count("run.finished") == 1
        calls = sum(agent.calls for agent in kit.agents.values())
        assert calls == len(envelope.history)

    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(whole_run())
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.long
async def test_a_runner_is_closed_although_a_stage_ignores_its_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    released = asyncio.Event()

    async def swallow(_context: StageContext, _view: StageView) -> StageResult:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()
        return StageResult({})

    kit = scripted_runner(TWO, {"ask": [swallow], "judge": [{"good": True}]})
    run_id = await kit.runner.submit(kit.request())
    async for event in kit.runner.watch(run_id):
        if event.type == "stage.started":
            await kit.runner.cancel(run_id, "enough")
    assert kit.runner.envelope(run_id).terminal_reason == "user_cancelled"
    await asyncio.wait_for(kit.runner.close(), 15)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == ["stage.does_not_stop"]
    released.set()
