"""The run table: answers, forks, pinned rules; and what happens when its log fails half way."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from runtime.errors import InterruptError, SettingsError, StateStorageError, UnknownNameError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.run_table import RunTable
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptRequest, InterruptResponse, Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.events import CancelRequested, StageSucceeded
from runtime.supervision.forking import with_run_id
from runtime.supervision.replay import client_events_of
from runtime.testing import PipelineBuilder, replay
from tests.runtime.full_log import FullLog
from tests.runtime.hosting.hosted import Hosted, wire
from tests.runtime.hosting.recorded import KINDS, looping

PIPELINE = PipelineBuilder().stage("a", default_next="b").stage("b").build()
CHANGED = PipelineBuilder(max_iterations=9).stage("a", default_next="b").stage("b").build()


def table(
    log: MemoryRunLog | None = None, config: PipelineConfig = PIPELINE, clock: FakeClock | None = None
) -> RunTable:
    return RunTable({config.name: config}, log or MemoryRunLog(), clock or FakeClock())


def stages_of(commands: list[Command]) -> list[RunStage]:
    return [command for command in commands if isinstance(command, RunStage)]


def finish(runs: RunTable, run_id: RunId, commands: list[Command]) -> Envelope:
    """Let every stage succeed until the run is over."""
    while todo := stages_of(commands):
        commands = [
            more for stage in todo for more in runs.handle(run_id, StageSucceeded(stage.key, {"by": stage.stage}))
        ]
    return runs.envelope(run_id)


# --- answers


class Asked:
    """A run of user `ada` that waits for an answer until a day has passed."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = MemoryRunLog()
        self.runs = table(self.log, clock=self.clock)
        self.run_id, commands = self.runs.submit(Request("sample", "?", user_id="ada", wait=True), RunId("r-1"))
        asks = StageSucceeded(stages_of(commands)[0].key, {}, interrupt=InterruptRequest("clarification", "Which?"))
        self.runs.handle(self.run_id, asks)

    def answer(self, interrupt_id: str = "r-1-q1", user_id: str = "ada") -> list[Command]:
        return self.runs.answer(self.run_id, interrupt_id, user_id, InterruptResponse("this"))


def test_an_answer_lets_the_run_go_on() -> None:
    asked = Asked()
    assert [stage.stage for stage in stages_of(asked.answer())] == ["a"]
    assert asked.runs.envelope(asked.run_id).lifecycle == "running"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"interrupt_id": "r-1-q2"}, "interrupt r-1-q2 is not open; r-1-q1 is"),
        ({"interrupt_id": ""}, "interrupt  is not open; r-1-q1 is"),
        ({"user_id": "bob"}, "interrupt r-1-q1 belongs to user 'ada', not to 'bob'"),
    ],
    ids=["unknown", "none", "wrong user"],
)
def test_an_answer_that_cannot_be_taken_says_why_and_changes_nothing(given: dict[str, Any], says: str) -> None:
    asked = Asked()
    before, kept = asked.runs.envelope(asked.run_id), asked.log.events(asked.run_id)
    with pytest.raises(InterruptError) as caught:
        asked.answer(**given)
    assert caught.value.message == says
    assert caught.value.exit_status == 2
    assert asked.runs.envelope(asked.run_id) is before
    assert asked.log.events(asked.run_id) == kept
    asked.answer()


def test_a_second_answer_is_refused_and_the_first_stands() -> None:
    asked = Asked()
    asked.answer()
    kept = asked.log.events(asked.run_id)
    with pytest.raises(InterruptError, match="is resolved already"):
        asked.answer()
    assert asked.log.events(asked.run_id) == kept


@pytest.mark.parametrize(("after_s", "is_taken"), [(24 * 3600 - 0.001, True), (24 * 3600, False), (25 * 3600, False)])
async def test_an_answer_is_taken_until_the_question_expires(after_s: float, is_taken: bool) -> None:
    asked = Asked()
    await asked.clock.advance(after_s)
    if is_taken:
        assert asked.answer()
        return
    before = asked.runs.envelope(asked.run_id)
    with pytest.raises(InterruptError, match=r"expired \d+(\.\d+)? s ago"):
        asked.answer()
    assert asked.runs.envelope(asked.run_id) is before


def test_an_answer_to_a_run_that_was_cancelled_or_never_asked_is_refused() -> None:
    asked = Asked()
    asked.runs.handle(asked.run_id, CancelRequested())
    with pytest.raises(InterruptError, match="is cancelled already"):
        asked.answer()
    asked.run_id, _ = asked.runs.submit(Request("sample", "?", user_id="ada"))
    with pytest.raises(InterruptError, match="is not open"):
        asked.answer()


def test_an_answer_to_an_unknown_run_names_it() -> None:
    with pytest.raises(UnknownNameError, match="no run 'r-none'"):
        table().answer(RunId("r-none"), "r-none-q1", "local", InterruptResponse())


# --- forks


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fork_at_any_event_has_the_same_past_and_ends_as_its_source_did(kind: str) -> None:
    source = await KINDS[kind]()
    kit, before = source.kit, source.kit.log.events(source.run_id)
    envelope = kit.runner.envelope(source.run_id)
    for at in range(1, source.events + 1):
        forked = await kit.runner.fork(source.run_id, at)
        ended = await settled(kit, forked)
        past = kit.log.events(forked)[:at]
        assert wire(with_run_id(event, source.run_id) for event in past) == wire(before[:at])
        assert (ended.terminal_reason, ended.outputs) == (envelope.terminal_reason, envelope.outputs)
        assert succeeded(ended) == succeeded(envelope)
        assert ended.usage.agent_hops == envelope.usage.agent_hops
        assert ended.usage.edges == envelope.usage.edges
        assert replay(kit.config, kit.log.events(forked))[-1].state.envelope == ended
        assert [event.seq for event in client_events_of(kit.config, kit.log.events(forked))] == [
            event.seq for event in [event async for event in kit.runner.watch(forked)]
        ]
    assert wire(kit.log.events(source.run_id)) == wire(before)
    assert kit.runner.envelope(source.run_id) is envelope


async def settled(kit: Hosted, run_id: RunId) -> Envelope:
    """The end of a run whose questions are all answered."""
    while (now := kit.runner.envelope(run_id)).lifecycle != "terminated":
        if now.lifecycle == "waiting" and now.interrupt is not None:
            response = InterruptResponse("that one", approved=True)
            await kit.runner.answer(run_id, now.interrupt.id, "local", response)
        await asyncio.to_thread(int)  # lets the threads of tools finish
        await kit.clock.advance(1)
    return now


def succeeded(envelope: Envelope) -> set[tuple[str, int, int]]:
    return {(record.stage, record.hop, record.item) for record in envelope.history if record.status == "success"}


@pytest.mark.parametrize("at", [-1, 0, 99])
async def test_a_fork_at_an_event_that_is_not_there_is_refused_and_leaves_no_run(at: int) -> None:
    source = await looping()
    with pytest.raises(UnknownNameError, match=f"has no event {at}"):
        await source.kit.runner.fork(source.run_id, at)
    assert len(source.kit.log.runs(10)) == 1


def test_a_fork_of_an_unknown_run_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="run 'r-none' has no event 1"):
        table().fork(RunId("r-none"), 1)


def test_a_fork_of_a_finished_run_at_its_end_is_over_too_and_nothing_is_left_to_take_up() -> None:
    log = MemoryRunLog()
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"))
    finish(runs, run_id, commands)
    forked, commands = runs.fork(run_id, len(log.events(run_id)))
    assert commands == []
    assert runs.is_over(forked)
    assert runs.running == 0
    assert log.unfinished() == []
    assert list(table(log).recover()) == []


@pytest.mark.parametrize("run_id", ["r", "e", "retry", "timeout", "interrupt", "q1", "r-1-q1", "x:y", ":"])
async def test_a_run_may_have_any_name_and_its_fork_any_other(run_id: str) -> None:
    source = await KINDS["answered"]()
    kit = source.kit
    log = MemoryRunLog()
    for event in kit.log.events(source.run_id):
        log.append(kit.config.name, with_run_id(event, RunId(run_id)))
    runs = RunTable({kit.config.name: kit.config}, log, kit.clock)
    for at in range(1, source.events + 1):
        forked, _ = runs.fork(RunId(run_id), at, RunId(f"{run_id}{at}:t"))
        expected = replay(kit.config, kit.log.events(source.run_id)[:at])[-1].state
        states = replay(kit.config, log.events(forked)[:at])[-1].state
        assert states.envelope.lifecycle == expected.envelope.lifecycle
        assert len(states.timers) == len(expected.timers)
        assert (states.envelope.interrupt is None) == (expected.envelope.interrupt is None)
        if states.envelope.interrupt is not None and expected.envelope.interrupt is not None:
            assert states.envelope.interrupt.status == expected.envelope.interrupt.status


async def test_a_fork_under_a_name_that_is_taken_changes_nothing() -> None:
    log = MemoryRunLog()
    runs = table(log)
    source, _ = runs.submit(Request("sample", "?"))
    other, commands = runs.submit(Request("sample", "other"))
    before = runs.envelope(other)
    assert runs.fork(source, 1, other) == (other, [])
    assert runs.envelope(other) is before
    assert finish(runs, other, commands).terminal_reason == "completed"


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_fork_that_the_log_cannot_take_leaves_no_run_in_the_table(room: int) -> None:
    log = FullLog()
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"))
    runs.handle(run_id, StageSucceeded(stages_of(commands)[0].key, {}))
    log.room = room
    with pytest.raises(StateStorageError, match="disk full"):
        runs.fork(run_id, 2, RunId("r-fork"))
    assert runs.running == 1
    with pytest.raises(UnknownNameError):
        runs.envelope(RunId("r-fork"))


async def test_a_fork_after_the_deadline_of_its_source_has_the_time_that_was_left_then() -> None:
    config = PipelineBuilder(deadline_s=10).stage("a").build()
    log, clock = MemoryRunLog(), FakeClock()
    runs = table(log, config, clock)
    run_id, commands = runs.submit(Request("sample", "?"))
    finish(runs, run_id, commands)
    await clock.advance(11)
    forked, commands = runs.fork(run_id, 1)
    assert runs.envelope(forked).bounds.deadline_ms == clock.now_ms() + 10_000
    assert ("deadline", clock.now_ms() + 10_000) in [
        (getattr(command, "timer_id", None), getattr(command, "due_ms", None)) for command in commands
    ]


def test_a_fork_has_the_priority_of_its_request() -> None:
    log = MemoryRunLog()
    runs = RunTable({"sample": PIPELINE}, log, FakeClock(), Quotas(running=1))
    for number, priority in enumerate(("normal", "realtime", "normal")):
        runs.submit(Request("sample", "?", priority=priority), RunId(f"r-{number}"))
    forked, _ = runs.fork(RunId("r-1"), 1)
    order = []
    for ending in ("r-0", "r-1"):
        runs.handle(RunId(ending), CancelRequested())
        order += [run_id for run_id, _ in runs.admit()]
    assert order == ["r-1", forked]


# --- the rules that a run began under


TOOLS = {"has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}
OTHER_AGENTS = PipelineBuilder().stage("a", default_next="b", **TOOLS).stage("b").build()


class RulesNotKept(MemoryRunLog):
    """A log of a version that did not keep rules."""

    def keep_rules(self, config_hash: str, rules: bytes) -> None:
        pass


def test_a_run_goes_on_under_the_rules_that_it_began_under() -> None:
    log = MemoryRunLog()
    short = PipelineBuilder(max_agent_hops=1).stage("a", default_next="b").stage("b").build()
    run_id, _ = table(log, short).submit(Request("sample", "?"))
    runs = table(log, PIPELINE)
    ((taken_up, commands),) = list(runs.recover())
    assert (taken_up, runs.rules_of(run_id)) == (run_id, short)
    envelope = finish(runs, run_id, commands)
    assert (envelope.terminal_reason, envelope.config_hash) == ("max_agent_hops_exceeded", short.config_hash)
    assert finish(runs, *runs.submit(Request("sample", "?"))).terminal_reason == "completed"


def test_a_run_that_waited_through_a_change_is_answered_and_goes_on_under_its_own_rules() -> None:
    asked = Asked()
    today = PipelineBuilder(clarification_resume_stage="c").stage("a", default_next="b").stage("b").stage("c").build()
    runs = table(asked.log, today, asked.clock)
    ((run_id, _),) = list(runs.recover())
    commands = runs.answer(run_id, "r-1-q1", "ada", InterruptResponse("this"))
    envelope = finish(runs, run_id, commands)
    assert [record.stage for record in envelope.history] == ["a", "a", "b"]
    assert (envelope.terminal_reason, envelope.config_hash) == ("completed", PIPELINE.config_hash)


def test_a_run_that_stays_goes_on_when_the_agents_fit_it_again() -> None:
    log = MemoryRunLog()
    run_id, _ = table(log).submit(Request("sample", "?"))
    assert list(table(log, OTHER_AGENTS).recover()) == []
    runs = table(log, CHANGED)
    ((taken_up, commands),) = list(runs.recover())
    assert finish(runs, taken_up, commands).terminal_reason == "completed"
    assert runs.rules_of(run_id) == PIPELINE


def test_a_run_that_is_over_is_read_and_forked_under_the_rules_that_it_began_under() -> None:
    log = MemoryRunLog()
    earlier = table(log)
    run_id, commands = earlier.submit(Request("sample", "?"))
    over = finish(earlier, run_id, commands)
    runs = table(log, CHANGED)
    assert runs.envelope(run_id) == over
    forked, commands = runs.fork(run_id, 1)
    assert runs.rules_of(forked) == PIPELINE
    assert finish(runs, forked, commands).terminal_reason == "completed"
    again = table(log, CHANGED)
    assert list(again.recover()) == []
    assert again.envelope(forked).config_hash == PIPELINE.config_hash


def test_a_run_is_taken_up_where_the_agents_of_today_are() -> None:
    log = MemoryRunLog()
    run_id, _ = table(log, PipelineBuilder().stage("a", default_next="b", replicas=4).stage("b").build()).submit(
        Request("sample", "?")
    )
    runs = table(log, PIPELINE)
    list(runs.recover())
    assert runs.rules_of(run_id).stages["a"].replicas == 1


@pytest.mark.parametrize(
    ("log", "today", "why"),
    [
        (RulesNotKept(), CHANGED, "the rules that it began under were not kept"),
        (
            MemoryRunLog(),
            OTHER_AGENTS,
            "of stage 'a' there changed whether it uses tools, what its tools may do, which tools it may use",
        ),
        (MemoryRunLog(), PipelineBuilder().stage("b").build(), "stage 'a' is not there any more"),
    ],
    ids=["rules not kept", "another agent", "no agent"],
)
def test_a_run_that_the_agents_of_today_do_not_fit_stays_as_it_is(
    caplog: pytest.LogCaptureFixture, log: MemoryRunLog, today: PipelineConfig, why: str
) -> None:
    run_id, _ = table(log).submit(Request("sample", "?"), RunId("r-1"))
    before = wire(log.events(run_id))
    runs = table(log, today)
    since = "pipeline 'sample' has changed since run r-1 began; it cannot"
    with pytest.raises(SettingsError, match=f"{since} be forked: {why}"):
        runs.fork(run_id, 1)
    with pytest.raises(SettingsError, match=f"{since} go on: {why}"):
        runs.submit(Request("sample", "?"), run_id)
    with caplog.at_level(logging.ERROR):
        assert list(runs.recover()) == []
    assert [record.message for record in caplog.records] == ["run.not_taken_up"]
    assert wire(log.events(run_id)) == before
    assert runs.running == 0


def test_rules_are_kept_once_and_before_the_run() -> None:
    class Counting(MemoryRunLog):
        kept = 0

        def keep_rules(self, config_hash: str, rules: bytes) -> None:
            self.kept += 1
            assert self.runs(9) == []
            super().keep_rules(config_hash, rules)

    log = Counting()
    runs = table(log)
    for _ in range(3):
        runs.submit(Request("sample", "?"))
    assert log.kept == 1


def test_a_request_whose_rules_cannot_be_kept_is_not_accepted() -> None:
    class Full(MemoryRunLog):
        def keep_rules(self, config_hash: str, rules: bytes) -> None:
            raise StateStorageError("disk full")

    log = Full()
    runs = table(log)
    with pytest.raises(StateStorageError, match="disk full"):
        runs.submit(Request("sample", "?"))
    assert (runs.running, log.runs(9)) == (0, [])


def test_a_run_is_pinned_to_its_rules_in_its_first_record() -> None:
    log = MemoryRunLog()
    run_id, _ = table(log).submit(Request("sample", "?"))
    assert log.events(run_id)[0].payload.config_hash == PIPELINE.config_hash  # type: ignore[union-attr]
    assert PIPELINE.config_hash != CHANGED.config_hash
    assert msgspec.json.decode(msgspec.json.encode(PIPELINE.config_hash)) == PIPELINE.config_hash


# --- what callers saw


@pytest.mark.parametrize("kind", KINDS)
async def test_what_callers_saw_can_be_read_from_the_log(kind: str) -> None:
    source = await KINDS[kind]()
    kit = source.kit
    seen = [event async for event in kit.runner.watch(source.run_id)]
    assert list(client_events_of(kit.config, kit.log.events(source.run_id))) == seen
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
