"""Parallel runs, fan-outs, questions and policies as whole runs: real agents on an event loop, scripts for models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import InterruptError, ModelFailedError, ToolFailedError
from runtime.run.envelope import InterruptRequest
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder, hang, replay, scripted_runner

parallel = PipelineBuilder.parallel


def taking(seconds: float, output: dict[str, Any]) -> Any:
    """A step that takes a while."""

    async def step(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(seconds)
        return StageResult(output)

    return step


async def test_branches_run_side_by_side_and_their_join_sees_both() -> None:
    builder = parallel().stage("a").stage("b").stage("c", requires=["a", "b"])
    kit = scripted_runner(builder.yaml(), {"a": [taking(3, {"n": 1})], "b": [taking(3, {"n": 2})], "c": [{}]})
    envelope = await kit.run_through_time(step_s=0.5)
    assert envelope.terminal_reason == "completed"
    assert (envelope.finished_at_ms or 0) - envelope.received_at_ms == 3_000
    assert kit.agents["c"].views[0].outputs == {"a": {"n": 1}, "b": {"n": 2}}


async def test_in_a_race_the_first_success_wins_and_the_hook_of_the_loser_is_cancelled() -> None:
    stopped: list[str] = []

    async def slow(_context: StageContext, _view: StageView) -> StageResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append("slow")
            raise
        return StageResult({})

    builder = parallel().stage("fast").stage("slow").stage("join", requires=["fast", "slow"], join_strategy="any")
    kit = scripted_runner(builder.yaml(), {"fast": [taking(1, {"won": True})], "slow": [slow], "join": [{}]})
    envelope = await kit.run_through_time(step_s=0.5)
    await asyncio.sleep(0)
    assert (envelope.terminal_reason, stopped) == ("completed", ["slow"])
    assert {str(record.stage): record.status for record in envelope.history}["slow"] == "cancelled"


async def test_in_a_race_a_failure_leaves_the_other_to_win() -> None:
    builder = parallel().stage("fast").stage("slow").stage("join", requires=["fast", "slow"], join_strategy="any")
    scripts = {"fast": [ModelFailedError("no answer")], "slow": [taking(1, {"won": True})], "join": [{}]}
    envelope = await scripted_runner(builder.yaml(), scripts).run_through_time(step_s=0.5)
    assert (envelope.terminal_reason, list(envelope.outputs)) == ("completed", ["slow", "join"])


async def test_items_that_end_in_any_order_are_joined_in_their_own() -> None:
    async def each(context: StageContext, view: StageView) -> StageResult:
        await context.clock.sleep(view.item)
        return StageResult({"waited": view.item, "index": view.item_index})

    builder = parallel().stage("list").stage("each", requires=["list"], foreach="outputs.list.x", foreach_concurrency=2)
    kit = scripted_runner(builder.yaml(), {"list": [{"x": [3, 1, 1, 0]}], "each": [each]})
    envelope = await kit.run_through_time(step_s=0.5)
    assert envelope.outputs["each"] == {"items": [{"waited": n, "index": i} for i, n in enumerate([3, 1, 1, 0])]}
    assert (envelope.finished_at_ms or 0) - envelope.received_at_ms == 3_000, "two at a time take three seconds"


async def test_an_item_that_fails_once_is_retried_by_itself() -> None:
    failed: list[int] = []

    async def each(_context: StageContext, view: StageView) -> StageResult:
        if view.item == 2 and not failed:
            failed.append(2)
            raise ToolFailedError("busy", recoverable=True)
        return StageResult({"of": view.item})

    builder = parallel().stage("list").stage("each", requires=["list"], foreach="outputs.list.x", max_retries=1)
    kit = scripted_runner(builder.yaml(), {"list": [{"x": [1, 2, 3]}], "each": [each]})
    envelope = await kit.run_through_time(step_s=0.25)
    assert envelope.outputs["each"] == {"items": [{"of": 1}, {"of": 2}, {"of": 3}]}
    assert kit.agents["each"].calls == 4


def asking() -> PipelineBuilder:
    return PipelineBuilder().stage("a", default_next="b").stage("b")


QUESTION = StageResult({}, interrupt=InterruptRequest("clarification", "Which one?"))


async def test_a_run_waits_for_its_answer_and_the_stage_that_asked_sees_it() -> None:
    kit = scripted_runner(asking().yaml(), {"a": [QUESTION, {"ok": True}], "b": [{}]})
    run_id = await kit.runner.submit(kit.request(wait=True))
    waiting = await kit.until(run_id, "waiting")
    assert waiting.interrupt is not None
    assert waiting.interrupt.question == "Which one?"
    await kit.answer(run_id, "this one")
    envelope = await kit.until(run_id, "terminated")
    assert envelope.terminal_reason == "completed"
    seen = kit.agents["a"].views[1].interrupt
    assert seen is not None
    assert seen.response is not None
    assert seen.response.text == "this one"
    with pytest.raises(InterruptError):
        await kit.answer(run_id, "another")
    assert replay(kit.config, kit.log.events(run_id))[-1].state.envelope == envelope


async def test_a_run_without_an_answer_expires_when_its_time_is_up() -> None:
    kit = scripted_runner(asking().yaml(), {"a": [QUESTION], "b": [{}]})
    run_id = await kit.runner.submit(kit.request(wait=True))
    await kit.until(run_id, "waiting")
    await kit.clock.advance(24 * 3600)
    assert (await kit.until(run_id, "terminated")).terminal_reason == "interrupt_expired"


async def test_a_paused_run_goes_on_when_its_checkpoint_is_answered() -> None:
    kit = scripted_runner(asking().yaml(), {"a": [taking(1, {})], "b": [{}]})
    run_id = await kit.runner.submit(kit.request())
    await kit.runner.pause(run_id, "lunch")
    await kit.clock.advance(3600)
    assert kit.agents["b"].calls == 0
    await kit.answer(run_id)
    assert (await kit.until(run_id, "terminated")).terminal_reason == "completed"


async def test_a_result_waits_for_its_confirmation_and_its_work_is_done_once() -> None:
    builder = PipelineBuilder().stage("a", has_policies=True, default_next="b").stage("b")
    verdicts = {"a": [PolicyVerdict("requires_confirmation", "Delete?")]}
    kit = scripted_runner(builder.yaml(), {"a": [{"done": True}], "b": [{}]}, verdicts=verdicts)
    run_id = await kit.runner.submit(kit.request(wait=True))
    assert (await kit.until(run_id, "waiting")).outputs == {}
    await kit.answer(run_id, approved=True)
    envelope = await kit.until(run_id, "terminated")
    assert (envelope.terminal_reason, envelope.outputs["a"], kit.agents["a"].calls) == ("completed", {"done": True}, 1)


async def test_a_deadline_stops_every_branch_and_the_final_stage_answers() -> None:
    builder = parallel(deadline_s=5, final_stage="say").stage("a").stage("b").stage("say")
    kit = scripted_runner(builder.yaml(), {"a": [hang], "b": [hang], "say": [{"text": "partial"}]})
    envelope = await kit.run_through_time(step_s=1)
    assert (envelope.terminal_reason, envelope.outputs) == ("deadline_exceeded", {"say": {"text": "partial"}})
