"""Forks: every event type is renamed, what is still to come moves, and what is past stays."""

from __future__ import annotations

import random
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import assume, given, settings

from runtime.hosting.run_table import RunTable
from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import INTERRUPT_ID, TIMER_ID, RunId, StageKey
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision import events as happening
from runtime.supervision.commands import Emit, RunStage
from runtime.supervision.events import ActorLost, Event, RunAdopted, StageFailed, StageSucceeded
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import fold
from runtime.testing import Bench, PipelineBuilder, wire_form
from tests.runtime.kernel.test_decide_properties import drive, seeds

SOURCE, FORK = RunId("r-source"), RunId("r-fork")
EVENTS = get_args(happening.Payload)
HOUR_MS = 3_600_000


# --- names


def sample(hint: Any) -> Any:
    """A value of a type, with everything in it that is optional, and the run's id wherever a type holds one."""
    if hint is RunId:
        return SOURCE
    if hint is StageKey:
        return StageKey(SOURCE, 3, 1, 2)
    if get_origin(hint) is Annotated:
        return {TIMER_ID: f"timeout:{SOURCE}/3/1/2", INTERRUPT_ID: f"{SOURCE}-q1"}[hint.__metadata__[0]]
    if get_origin(hint) in (Union, types.UnionType):
        return sample(next(part for part in get_args(hint) if part is not type(None)))
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if get_origin(hint) is tuple:
        return (sample(get_args(hint)[0]),) * 2
    if get_origin(hint) is dict:
        key, value = get_args(hint)
        return {sample(key): sample(value)}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint(**{name: sample(part) for name, part in get_type_hints(hint, include_extras=True).items()})
    plain: dict[Any, Any] = {str: "text", int: 7, float: 1.5, bool: True, Any: "anything", object: "anything"}
    return plain[getattr(hint, "__supertype__", hint)]


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_a_fork_names_itself_in_every_field_of_every_event(kind: type[Any]) -> None:
    event = Event(SOURCE, 4, 9, sample(kind))
    forked = with_run_id(event, FORK)
    assert SOURCE.encode() not in msgspec.msgpack.encode(forked)
    assert wire_form(with_run_id(forked, SOURCE)) == wire_form(event)


NO_NAME_OF_THE_RUN = {"user_id", "session_id", "request_id"}


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_id_in_an_event_has_a_type_that_says_whether_it_names_the_run(kind: type[Any]) -> None:
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_id = name.endswith(("_id", "_ids", "key", "keys")) and name not in NO_NAME_OF_THE_RUN
        assert not (is_id and hint in (str, str | None, tuple[str, ...])), f"{kind.__name__}.{name} is plain text"


def test_a_fork_keeps_its_past_when_an_agent_died_in_it() -> None:
    log, clock = MemoryRunLog(), FakeClock()
    config = PipelineBuilder().stage("a", default_next="b").stage("b").build()
    runs = RunTable({"sample": config}, log, clock)
    run_id, commands = runs.submit(Request("sample", "?"), SOURCE)
    commands = runs.handle(run_id, ActorLost("a", (stage_of(commands).key,)))
    runs.handle(run_id, StageSucceeded(stage_of(commands).key, {"n": 1}))
    source, at = runs.envelope(run_id), len(log.events(run_id))
    forked, _ = runs.fork(run_id, at)
    past = runs.envelope(forked)
    assert past.outputs == source.outputs == {"a": {"n": 1}}
    assert past.current_stage == "b"
    assert [(record.stage, record.attempt) for record in past.history][:2] == [("a", 1), ("a", 2)]


def stage_of(commands: list[Any]) -> RunStage:
    return next(command for command in commands if isinstance(command, RunStage))


# --- instants


async def test_a_question_in_a_fork_is_open_for_as_long_as_it_was_when_it_was_forked() -> None:
    log, clock = MemoryRunLog(), FakeClock()
    config = PipelineBuilder().stage("a").build()
    runs = RunTable({"sample": config}, log, clock)
    run_id, commands = runs.submit(Request("sample", "?", wait=True), SOURCE)
    asks = StageSucceeded(stage_of(commands).key, {}, interrupt=InterruptRequest("confirmation", "sure?"))
    runs.handle(run_id, asks)
    await clock.advance(3_000)  # of the hour that the question is open
    forked, commands = runs.fork(run_id, 2)
    asked = runs.envelope(forked).interrupt
    assert asked is not None
    assert asked.expires_at_ms == clock.now_ms() + HOUR_MS
    assert {f"interrupt:{asked.id}": clock.now_ms() + HOUR_MS}.items() <= timers(commands).items()
    (told,) = (command.event for command in commands if isinstance(command, Emit))
    assert (told.type, told.data["id"], told.data["expires_at_ms"]) == (
        "interrupt.raised",
        asked.id,
        asked.expires_at_ms,
    )
    await clock.advance(3_599)
    runs.answer(forked, asked.id, "local", InterruptResponse(approved=True))
    assert runs.envelope(forked).lifecycle == "running"


def timers(commands: list[Any]) -> dict[str, int]:
    return {command.timer_id: command.due_ms for command in commands if hasattr(command, "timer_id")}


async def test_a_retry_in_a_fork_waits_for_as_long_as_was_left_of_its_pause() -> None:
    log, clock = MemoryRunLog(), FakeClock()
    runs = RunTable({"sample": PipelineBuilder().stage("a", max_retries=1).build()}, log, clock)
    run_id, commands = runs.submit(Request("sample", "?"), SOURCE)
    commands = runs.handle(run_id, StageFailed(stage_of(commands).key, "tool", "broken", recoverable=True))
    (due_ms,) = (due for timer, due in timers(commands).items() if timer.startswith("retry:"))
    left_ms = due_ms - clock.now_ms()
    await clock.advance(7_200)
    forked, commands = runs.fork(run_id, 2)
    assert timers(commands)[f"retry:{forked}/1/0/1"] in range(
        clock.now_ms() + left_ms // 2, clock.now_ms() + 2 * left_ms
    )


async def test_a_fork_whose_process_dies_at_once_is_taken_up_with_the_time_that_it_was_given() -> None:
    log, clock = MemoryRunLog(), FakeClock()
    config = PipelineBuilder(deadline_s=10).stage("a").build()
    runs = RunTable({"sample": config}, log, clock)
    run_id, _ = runs.submit(Request("sample", "?"), SOURCE)
    await clock.advance(100)
    forked, _ = runs.fork(run_id, 1)
    deadline_ms = runs.envelope(forked).bounds.deadline_ms
    assert deadline_ms == clock.now_ms() + 10_000
    await clock.advance(4)
    taken_up = RunTable({"sample": config}, log, clock)
    commands = dict(taken_up.recover())[forked]
    assert taken_up.envelope(forked).bounds.deadline_ms == deadline_ms
    assert timers(commands)["deadline"] == deadline_ms


async def test_a_fork_of_a_fork_moves_only_by_its_own_time() -> None:
    log, clock = MemoryRunLog(), FakeClock()
    runs = RunTable({"sample": PipelineBuilder(deadline_s=10).stage("a").build()}, log, clock)
    run_id, _ = runs.submit(Request("sample", "?"), SOURCE)
    await clock.advance(100)
    first, _ = runs.fork(run_id, 1)
    await clock.advance(100)
    second, _ = runs.fork(first, 2)
    assert runs.envelope(second).bounds.deadline_ms == clock.now_ms() + 10_000
    assert [event.at_ms for event in log.events(second)][:2] == [event.at_ms for event in log.events(first)][:2]


@settings(max_examples=100)
@given(seeds)
def test_a_fork_has_the_time_that_was_left_and_the_past_as_it_was(seed: int) -> None:
    bench = drive(seed)
    dice = random.Random(seed)
    past = bench.log[: dice.randint(1, len(bench.log))]
    source = fold(bench.config, past)
    assume(source.envelope.lifecycle != "terminated")
    shift_ms = dice.choice([0, 1, HOUR_MS, 400 * 24 * HOUR_MS])
    fork = Bench(bench.config, FORK)
    fork.log = [with_run_id(event, FORK) for event in past]
    fork.state, fork.now_ms = fold(bench.config, fork.log), past[-1].at_ms + shift_ms
    before = fork.state
    fork.happen(RunAdopted("forked", shift_ms=shift_ms))
    now = fork.envelope
    assert now.received_at_ms == source.envelope.received_at_ms
    assert now.history[: len(source.envelope.history)] == source.envelope.history
    deadline_ms = source.envelope.bounds.deadline_ms
    assert now.bounds.deadline_ms == (None if deadline_ms is None else deadline_ms + shift_ms)
    for timer_id, due_ms in before.timers.items():
        if not timer_id.startswith("timeout:"):
            assert fork.state.timers[timer_id] == due_ms + shift_ms
    asked = now.interrupt
    if asked is not None and asked.status == "pending" and asked.expires_at_ms is not None:
        left_ms = asked.expires_at_ms - fork.now_ms
        assert left_ms <= (TIME_TO_LIVE_MS[asked.kind] or 0)
        assert left_ms == (source.envelope.interrupt.expires_at_ms or 0) - past[-1].at_ms  # type: ignore[union-attr]
    again = fold(bench.config, [happening.decode_event(happening.encode_event(event)) for event in fork.log])
    assert wire_form(again) == wire_form(fork.state), "the fork does not replay to its own state"
