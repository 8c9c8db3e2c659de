"""The run table: recorded before anything is handed out; what changes nothing is not recorded."""

from __future__ import annotations

import pytest

from runtime.errors import InputError, StateStorageError, UnknownNameError
from runtime.hosting import run_books
from runtime.hosting.run_books import FINISHED_RUNS_KEPT
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.events import CancelRequested, RunRequested, StageStarted, StageSucceeded, TimerFired
from runtime.testing import PipelineBuilder, replay
from tests.runtime.full_log import FullLog

PIPELINE = PipelineBuilder().stage("a", default_next="b").stage("b").build()


def table(log: MemoryRunLog | None = None) -> RunTable:
    return RunTable({"sample": PIPELINE}, log or MemoryRunLog(), FakeClock())


def stage_of(commands: list[Command]) -> RunStage:
    (found,) = [command for command in commands if isinstance(command, RunStage)]
    return found


def test_a_submitted_request_is_in_the_log_and_its_first_stage_is_handed_out() -> None:
    log = MemoryRunLog()
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"))
    assert [type(event.payload) for event in log.events(run_id)] == [RunRequested]
    assert stage_of(commands).stage == "a"
    assert not runs.is_over(run_id)
    assert runs.running == 1
    assert runs.rules_of(run_id) == PIPELINE


def test_an_unknown_pipeline_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="no pipeline is named 'simple'; known: sample") as caught:
        table().submit(Request("simple", "?"))
    assert caught.value.values["known"] == ["sample"]


@pytest.mark.parametrize(
    "request_",
    [
        Request("sample", "caf\udce9"),
        Request("sample", "?", metadata={"x": object()}),
        Request("sample", "?", limits={"max_tokens": "many"}),  # type: ignore[dict-item]
    ],
    ids=["surrogate", "object", "wrong type"],
)
def test_a_request_that_cannot_be_recorded_is_bad_input_and_leaves_no_run(request_: Request) -> None:
    runs = table()
    with pytest.raises(InputError, match="cannot be recorded"):
        runs.submit(request_)
    assert runs.running == 0


def test_what_a_run_was_asked_is_the_same_in_memory_as_after_a_replay() -> None:
    log = MemoryRunLog()
    runs = table(log)
    run_id, _ = runs.submit(Request("sample", "?", metadata={"paths": ("a", "b")}))
    assert runs.envelope(run_id).request.metadata == {"paths": ["a", "b"]}
    assert replay(PIPELINE, log.events(run_id))[-1].state.envelope == runs.envelope(run_id)


def test_a_request_that_the_log_cannot_take_leaves_no_run() -> None:
    runs = table(FullLog(0))
    with pytest.raises(StateStorageError, match="disk full"):
        runs.submit(Request("sample", "?"), RunId("r-1"))
    assert runs.running == 0
    with pytest.raises(UnknownNameError):
        runs.envelope(RunId("r-1"))


def test_an_event_that_the_log_cannot_take_changes_nothing_and_hands_out_nothing() -> None:
    log = FullLog(1)
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"))
    before = runs.envelope(run_id)
    succeeded = StageSucceeded(stage_of(commands).key, {"x": 1})
    with pytest.raises(StateStorageError):
        runs.handle(run_id, succeeded)
    assert runs.envelope(run_id) is before
    log.room = 1
    assert stage_of(runs.handle(run_id, succeeded)).stage == "b"


def test_what_changes_nothing_is_not_recorded() -> None:
    log = MemoryRunLog()
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"))
    assert runs.handle(run_id, TimerFired("lunch")) == []
    runs.handle(run_id, StageStarted(stage_of(commands).key))
    assert runs.handle(run_id, StageStarted(stage_of(commands).key)) == []
    assert [event.seq for event in log.events(run_id)] == [1, 2]


def test_an_event_of_an_unknown_run_is_dropped() -> None:
    assert table().handle(RunId("r-none"), CancelRequested()) == []


def test_a_request_under_a_known_run_id_changes_nothing() -> None:
    log = MemoryRunLog()
    runs = table(log)
    run_id, commands = runs.submit(Request("sample", "?"), RunId("r-1"))
    runs.handle(run_id, StageSucceeded(stage_of(commands).key, {}))
    before = runs.envelope(run_id)
    assert runs.submit(Request("sample", "other"), RunId("r-1")) == ("r-1", [])
    assert runs.envelope(run_id) is before
    assert len(log.events(run_id)) == 2


def test_client_events_can_be_read_again_from_any_number() -> None:
    runs = table()
    run_id, commands = runs.submit(Request("sample", "?"))
    runs.handle(run_id, StageStarted(stage_of(commands).key))
    runs.handle(run_id, CancelRequested())
    numbers = [event.seq for event in runs.client_events(run_id)]
    assert numbers == [1, 2, 3, 4]
    for after in (-1, 0, 1, 3, 4, 5):
        assert [event.seq for event in runs.client_events(run_id, after)] == numbers[max(0, after) :]


def test_asking_for_a_run_that_is_not_known_names_it() -> None:
    runs = table()
    for ask in (runs.envelope, runs.is_over, runs.client_events):
        with pytest.raises(UnknownNameError, match="no run 'r-none' is known here"):
            ask(RunId("r-none"))


def test_the_newest_thousand_finished_runs_are_remembered_and_unfinished_ones_always() -> None:
    assert run_books.FINISHED_RUNS_KEPT == 1_000
    runs = table()
    waiting, _ = runs.submit(Request("sample", "?"), RunId("r-waiting"))
    for number in range(FINISHED_RUNS_KEPT + 1):
        run_id, _ = runs.submit(Request("sample", "?"), RunId(f"r-{number}"))
        runs.handle(run_id, CancelRequested())
    assert not runs.is_over(waiting)
    assert runs.running == 1
    assert runs.is_over(RunId("r-1"))
    with pytest.raises(UnknownNameError):
        runs.envelope(RunId("r-none"))
    assert runs.envelope(RunId("r-0")).terminal_reason == "user_cancelled", "an older one is read from the log"


def test_each_run_keeps_the_rules_that_it_began_under() -> None:
    runs = table()
    run_id, _ = runs.submit(Request("sample", "?"))
    assert runs.envelope(run_id).config_hash == PIPELINE.config_hash
