"""Runs that wait, hold, are forked or race, in one process on a clock that is turned by hand."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import InterruptError, StateStorageError, UnknownNameError
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptRequest, InterruptResponse
from runtime.run.stage_view import StageView
from runtime.supervision.events import PauseRequested, StageStarted
from runtime.testing import START_MS, PipelineBuilder, hang
from tests.runtime.full_log import FullLog
from tests.runtime.hosting.hosted import Hosted

TWO = PipelineBuilder().stage("a", default_next="b").stage("b").build()


def asking(kind: InterruptKind = "clarification", question: str = "Which?") -> Any:
    """A step that asks once, and then tells what it was answered."""

    async def step(_context: StageContext, view: StageView) -> StageResult:
        if view.interrupt is None:
            return StageResult({}, interrupt=InterruptRequest(kind, question, data={"choices": ["x", "y"]}))
        response = view.interrupt.response
        return StageResult({"heard": response.text if response else None, "status": view.interrupt.status})

    return step


async def waiting_run(kit: Hosted, **fields: Any) -> RunId:
    run_id = await kit.submit(wait=True, **fields)
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    return run_id


async def answer(kit: Hosted, run_id: RunId, number: int = 1, user_id: str = "local", **response: Any) -> Envelope:
    await kit.runner.answer(run_id, f"{run_id}-q{number}", user_id, InterruptResponse(**response))
    await kit.clock.advance(0)
    return kit.runner.envelope(run_id)


# --- questions


async def test_a_run_that_waits_goes_on_where_it_asked_with_the_answer_and_all_outputs() -> None:
    kit = Hosted(TWO, {"a": [{"n": 1}], "b": [asking()]})
    run_id = await waiting_run(kit)
    assert kit.runner.envelope(run_id).outputs["a"] == {"n": 1}
    envelope = await answer(kit, run_id, text="this one")
    assert envelope.terminal_reason == "completed"
    assert envelope.outputs == {"a": {"n": 1}, "b": {"heard": "this one", "status": "resolved"}}
    assert kit.agents["a"].calls == 1


async def test_a_run_that_waits_has_nobody_at_work_and_its_watcher_waits_with_it() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    run = asyncio.create_task(kit.run(wait=True))
    await kit.clock.advance(3600)
    assert not run.done()
    (run_id,) = [summary.run_id for summary in kit.log.runs(10)]
    await answer(kit, run_id)
    assert (await run).terminal_reason == "completed"


async def test_the_question_is_shown_with_its_number_and_resolved_when_answered() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    run_id = await waiting_run(kit)
    await answer(kit, run_id)
    events = [event async for event in kit.runner.watch(run_id)]
    raised, resolved = [event.data for event in events if event.type.startswith("interrupt.")]
    shown = {"id": f"{run_id}-q1", "kind": "clarification", "question": "Which?", "data": {"choices": ["x", "y"]}}
    assert raised == {**shown, "expires_at_ms": START_MS + 24 * 3_600_000}
    assert resolved == {"id": f"{run_id}-q1", "status": "resolved"}


async def test_of_many_answers_at_once_exactly_one_is_taken() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    run_id = await waiting_run(kit)
    given = [kit.runner.answer(run_id, f"{run_id}-q1", "local", InterruptResponse(str(n))) for n in range(8)]
    outcomes = await asyncio.gather(*given, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(InterruptError) == 7
    await kit.clock.advance(0)
    assert kit.runner.envelope(run_id).outputs["a"]["heard"] == "0"


async def test_another_users_answer_is_refused_and_the_run_still_waits() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    run_id = await waiting_run(kit, user_id="ada")
    with pytest.raises(InterruptError, match="belongs to user 'ada', not to 'bob'"):
        await answer(kit, run_id, user_id="bob")
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    assert (await answer(kit, run_id, user_id="ada")).terminal_reason == "completed"


@pytest.mark.parametrize(
    ("kind", "life_s"),
    [
        ("clarification", 24 * 3600),
        ("confirmation", 3600),
        ("agent_review", 1800),
        ("resource_exhausted", 300),
        ("timeout", 300),
        ("system_error", 3600),
    ],
)
async def test_a_question_that_nobody_answers_ends_the_run_at_its_expiry_and_not_before(
    kind: InterruptKind, life_s: int
) -> None:
    kit = Hosted(TWO, {"a": [asking(kind)], "b": [{}]})
    run_id = await waiting_run(kit)
    await kit.clock.advance(life_s - 0.001)
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    await kit.clock.advance(0.001)
    envelope = kit.runner.envelope(run_id)
    assert (envelope.terminal_reason, envelope.finished_at_ms) == ("interrupt_expired", START_MS + life_s * 1000)
    with pytest.raises(InterruptError, match="is expired already"):
        await answer(kit, run_id)


async def test_a_checkpoint_never_expires() -> None:
    kit = Hosted(TWO, {"a": [asking("checkpoint")], "b": [{}]})
    run_id = await waiting_run(kit)
    await kit.clock.advance(365 * 24 * 3600)
    assert (await answer(kit, run_id)).terminal_reason == "completed"


async def test_where_the_pipeline_says_so_an_expired_question_is_gone_on_from_without_an_answer() -> None:
    config = PipelineBuilder(interrupt_expiry={"clarification": "proceed"}).stage("a", default_next="b").stage("b")
    kit = Hosted(config.build(), {"a": [asking()], "b": [{}]})
    run_id = await waiting_run(kit)
    await kit.clock.advance(24 * 3600)
    assert kit.runner.envelope(run_id).outputs == {"a": {"heard": None, "status": "expired"}, "b": {}}


async def test_a_run_that_waits_can_be_cancelled_and_its_question_is_closed() -> None:
    kit = Hosted(TWO, {"a": [{"n": 1}], "b": [asking()]})
    run_id = await waiting_run(kit)
    await kit.runner.cancel(run_id, "enough")
    envelope = kit.runner.envelope(run_id)
    assert (envelope.terminal_reason, envelope.terminal_detail) == ("user_cancelled", "enough")
    assert envelope.interrupt is not None
    assert envelope.interrupt.status == "cancelled"
    assert envelope.outputs["a"] == {"n": 1}
    with pytest.raises(InterruptError, match="is cancelled already"):
        await answer(kit, run_id)
    await kit.clock.advance(25 * 3600)
    assert kit.runner.envelope(run_id) is envelope


# --- pause and resume


async def test_a_paused_run_finishes_what_is_at_work_holds_and_goes_on_when_answered() -> None:
    async def slow(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(5)
        return StageResult({"slow": True})

    kit = Hosted(TWO, {"a": [slow], "b": [{}]})
    run_id = await kit.submit()
    await kit.runner.pause(run_id, "lunch")
    await kit.clock.advance(5)
    envelope = kit.runner.envelope(run_id)
    assert (envelope.lifecycle, envelope.outputs) == ("waiting", {"a": {"slow": True}})
    assert envelope.interrupt is not None
    assert (envelope.interrupt.kind, envelope.interrupt.question) == ("checkpoint", "lunch")
    assert kit.agents["b"].calls == 0
    assert (await answer(kit, run_id)).terminal_reason == "completed"
    assert (kit.agents["a"].calls, kit.agents["b"].calls) == (1, 1)


async def test_a_paused_run_that_goes_on_at_once_loses_nothing_of_what_is_at_work() -> None:
    async def slow(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(5)
        return StageResult({})

    kit = Hosted(TWO, {"a": [slow], "b": [{}]})
    run_id = await kit.submit()
    await kit.runner.pause(run_id)
    assert (await answer(kit, run_id)).lifecycle == "running"
    await kit.clock.advance(5)
    assert kit.runner.envelope(run_id).terminal_reason == "completed"
    assert kit.agents["a"].calls == 1


async def test_a_run_that_waits_or_is_over_cannot_be_paused() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    run_id = await waiting_run(kit)
    await kit.runner.pause(run_id)
    await answer(kit, run_id)
    await kit.runner.pause(run_id)
    assert not [event for event in kit.log.events(run_id) if isinstance(event.payload, PauseRequested)]


# --- forks


async def test_a_fork_has_its_sources_past_and_another_answer_gives_it_another_future() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    source = await waiting_run(kit)
    asked_at = len(kit.log.events(source))
    assert (await answer(kit, source, text="left")).outputs["a"]["heard"] == "left"
    forked = await kit.runner.fork(source, asked_at)
    assert kit.runner.envelope(forked).lifecycle == "waiting"
    assert (await answer(kit, forked, text="right")).outputs["a"]["heard"] == "right"
    assert kit.runner.envelope(source).outputs["a"]["heard"] == "left"


async def test_a_fork_of_a_question_that_has_expired_meanwhile_waits_a_day_of_its_own() -> None:
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]})
    source = await waiting_run(kit)
    asked_at = len(kit.log.events(source))
    await answer(kit, source)
    await kit.clock.advance(24 * 3600)
    forked = await kit.runner.fork(source, asked_at)
    await kit.clock.advance(24 * 3600 - 1)
    assert kit.runner.envelope(forked).lifecycle == "waiting"
    await kit.clock.advance(1)
    assert kit.runner.envelope(forked).terminal_reason == "interrupt_expired"


async def test_a_fork_is_watched_from_its_first_event_on() -> None:
    kit = Hosted(TWO, {"a": [{}], "b": [{}]})
    source = await kit.submit()
    forked = await kit.runner.fork(source, 3)
    seen = [event async for event in kit.runner.watch(forked)]
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert (seen[0].type, seen[-1].type) == ("run.accepted", "run.finished")
    assert {event.run_id for event in seen} == {forked}


async def test_an_unknown_run_cannot_be_forked_answered_or_watched() -> None:
    kit = Hosted(TWO, {"a": [{}], "b": [{}]})
    with pytest.raises(UnknownNameError):
        await kit.runner.fork(RunId("r-none"), 1)
    with pytest.raises(UnknownNameError):
        await kit.runner.answer(RunId("r-none"), "r-none-q1", "local", InterruptResponse())
    with pytest.raises(UnknownNameError):
        _ = [event async for event in kit.runner.watch(RunId("r-none"))]


# --- races


async def test_a_join_of_any_goes_on_at_the_first_success_while_the_slow_branch_still_runs() -> None:
    heard: list[str] = []
    at_work = asyncio.Event()

    async def slow(context: StageContext, view: StageView) -> StageResult:
        at_work.set()
        try:
            return await hang(context, view)
        finally:
            heard.append("cancelled")

    async def quick(_context: StageContext, _view: StageView) -> StageResult:
        await at_work.wait()
        return StageResult({"n": 1})

    config = PipelineBuilder.parallel().stage("quick").stage("slow")
    config.stage("join", requires=["quick", "slow"], join_strategy="any")
    kit = Hosted(config.build(), {"quick": [quick], "slow": [slow], "join": [{}]})
    run_id = await kit.submit()
    envelope = kit.runner.envelope(run_id)
    assert (envelope.terminal_reason, envelope.finished_at_ms) == ("completed", START_MS)
    assert {record.stage: record.status for record in envelope.history} == {
        "quick": "success",
        "slow": "cancelled",
        "join": "success",
    }
    assert kit.agents["slow"].calls == 1
    assert heard == ["cancelled"]


async def test_a_join_of_any_goes_on_within_fifty_milliseconds_of_a_late_first_success() -> None:
    async def after_a_second(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(1)
        return StageResult({})

    config = PipelineBuilder.parallel().stage("quick").stage("slow")
    config.stage("join", requires=["quick", "slow"], join_strategy="any")
    kit = Hosted(config.build(), {"quick": [after_a_second], "slow": [hang], "join": [hang]})
    run_id = await kit.submit()
    await kit.clock.advance(1)
    started = {
        event.stage: event.at_ms async for event in _until_started(kit, run_id, "join") if event.type == "stage.started"
    }
    assert started["join"] - (START_MS + 1000) <= 50
    await kit.runner.close()


async def _until_started(kit: Hosted, run_id: RunId, stage: str) -> Any:
    async for event in kit.runner.watch(run_id):
        yield event
        if event.type == "stage.started" and event.stage == stage:
            return


async def test_a_loser_that_ignores_its_cancellation_changes_nothing() -> None:
    async def stubborn(context: StageContext, _view: StageView) -> StageResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await context.clock.sleep(1)
        return StageResult({"late": True})

    config = PipelineBuilder.parallel().stage("quick").stage("slow")
    config.stage("join", requires=["quick", "slow"], join_strategy="any")
    kit = Hosted(config.build(), {"quick": [{}], "slow": [stubborn], "join": [{}]})
    run_id = await kit.submit()
    await kit.clock.advance(5)
    assert "slow" not in kit.runner.envelope(run_id).outputs
    assert kit.runner.envelope(run_id).stages["slow"] == "cancelled"


async def test_a_run_goes_on_by_itself_when_its_race_is_won_while_a_loser_asks_and_takes_no_answer_to_it() -> None:
    async def after_a_minute(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(60)
        return StageResult({"n": 1})

    config = PipelineBuilder.parallel().stage("asks").stage("quick")
    config.stage("join", requires=["asks", "quick"], join_strategy="any")
    kit = Hosted(config.build(), {"asks": [asking()], "quick": [after_a_minute], "join": [hang]})
    run_id = await waiting_run(kit)
    await kit.clock.advance(60)
    assert kit.runner.envelope(run_id).stages == {"asks": "cancelled", "quick": "success", "join": "active"}
    with pytest.raises(InterruptError, match="q1 is cancelled already"):
        await answer(kit, run_id, text="too late")
    assert kit.agents["asks"].calls == 1
    await kit.runner.close()


# --- what goes wrong


async def test_an_answer_that_cannot_be_recorded_is_not_taken_and_can_be_given_again() -> None:
    log = FullLog()
    kit = Hosted(TWO, {"a": [asking()], "b": [{}]}, log=log)
    run_id = await waiting_run(kit)
    log.room = 0
    with pytest.raises(StateStorageError):
        await answer(kit, run_id, text="lost")
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    log.room = 1_000
    assert (await answer(kit, run_id, text="kept")).outputs["a"]["heard"] == "kept"


@pytest.mark.parametrize("watchers", [1, 2, 10])
async def test_every_watcher_of_a_run_that_cannot_go_on_is_told(
    watchers: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = FullLog()
    log.room = 2
    kit = Hosted(TWO, {"a": [{}], "b": [{}]}, log=log)
    run_id = await kit.runner.submit(kit.request())

    async def watch() -> list[Any]:
        return [event async for event in kit.runner.watch(run_id)]

    tasks = [asyncio.create_task(watch()) for _ in range(watchers)]
    with caplog.at_level(logging.CRITICAL):
        await kit.clock.advance(1)
    outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(outcome) for outcome in outcomes] == [StateStorageError] * watchers
    assert not [event for event in kit.log.events(run_id) if isinstance(event.payload, StageStarted)][1:]


# --- taken up from the log


async def test_a_run_of_the_log_is_gone_on_with_by_another_runner() -> None:
    first = Hosted(TWO, {"a": [{"n": 1}], "b": [asking()]})
    run_id = await waiting_run(first)
    second = Hosted(TWO, {"a": [{"n": 2}], "b": [asking()]}, log=first.log)
    await second.runner.resume(run_id)
    assert second.runner.envelope(run_id).lifecycle == "waiting"
    envelope = await answer(second, run_id, text="x")
    assert (envelope.terminal_reason, envelope.outputs["b"]["heard"]) == ("completed", "x")
    assert second.agents["a"].calls == 0


async def test_a_run_that_the_log_does_not_have_cannot_be_gone_on_with() -> None:
    kit = Hosted(TWO, {"a": [{}], "b": [{}]})
    with pytest.raises(UnknownNameError, match="r-none"):
        await kit.runner.resume(RunId("r-none"))
