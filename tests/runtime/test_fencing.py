"""One owner at a time: who takes a log over shuts out the former owner, and recovers its runs."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import FencedError, InterruptError, StateStorageError
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptRequest, InterruptResponse, Request
from runtime.store.run_log import Entry, MemoryRunLog, RunLog, SqliteRunLog, SqlRunLog
from runtime.supervision.commands import Command, RunStage, SetTimer
from runtime.supervision.events import CancelRequested, Event, RunAdopted, StageSucceeded, ToolCalled
from runtime.testing import PipelineBuilder
from tests.runtime.store.conftest import make_place

PIPELINE = PipelineBuilder().stage("a", default_next="b").stage("b").build()
RUN = RunId("r-1")

Opener = Callable[[], RunLog]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same log again and again, as several processes would."""
    memory = MemoryRunLog()
    place = None if request.param == "memory" else make_place(request.param, request, tmp_path)
    yield lambda: memory if place is None else SqlRunLog(place.open())
    if place is not None:
        place.close()


def event(seq: int, run_id: RunId = RUN) -> Event:
    return Event(run_id, seq, seq, CancelRequested("why"))


def table(log: RunLog, owner: str | None = None) -> RunTable:
    return RunTable({"sample": PIPELINE}, log, FakeClock(), owner=owner)


def issued(commands: list[Command]) -> list[RunStage]:
    return [command for command in commands if isinstance(command, RunStage)]


def test_each_owner_gets_a_higher_epoch(opened: Opener) -> None:
    assert [opened().take_over(name) for name in ("a", "b", "a")] == [1, 2, 3]


def test_a_deposed_owner_is_refused_and_nothing_of_it_is_kept(opened: Opener) -> None:
    old_log, new_log = opened(), opened()
    old = old_log.take_over("old")
    old_log.append("p", event(1), old)
    new = new_log.take_over("new")
    with pytest.raises(FencedError, match="'new' took this log over with epoch 2"):
        old_log.append("p", event(2), old)
    assert new_log.events(RUN) == [event(1)]
    new_log.append("p", event(2), new)
    with pytest.raises(FencedError):
        old_log.append("p", event(1, RunId("r-2")), old)
    new_log.check_owner(new)
    with pytest.raises(FencedError):
        old_log.check_owner(old)
    assert [row.run_id for row in new_log.runs(9)] == [RUN]


def test_a_writer_without_an_epoch_is_not_fenced(opened: Opener) -> None:
    log = opened()
    log.take_over("owner")
    log.append("p", event(1))
    assert log.events(RUN) == [event(1)]


def test_the_fencing_error_travels_and_is_a_storage_error() -> None:
    error = FencedError("late", run_id=RUN, epoch=1, newest=2)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, StateStorageError)
    assert (again.code, again.values["newest"]) == ("fenced", 2)


def test_of_two_owners_writing_at_once_the_deposed_one_never_writes_after_the_other(tmp_path: Path) -> None:
    logs = [SqliteRunLog(tmp_path / "runs.sqlite") for _ in range(2)]
    first = logs[0].take_over("first")
    taken = threading.Event()
    refused: list[int] = []

    def write_until_refused() -> None:
        for number in range(1, 100_000):
            try:
                logs[0].append("p", event(1, RunId(f"r-old-{number}")), first)
            except FencedError:
                refused.append(number)
                return
            taken.wait(0.0001)

    writer = threading.Thread(target=write_until_refused)
    writer.start()
    second = logs[1].take_over("second")
    before = len(logs[1].runs(100_000))
    logs[1].append("p", event(1), second)
    writer.join()
    assert refused
    assert len(logs[1].runs(100_000)) == before + 1
    for log in logs:
        log.close()


@given(st.lists(st.sampled_from(["take", "write", "write by an older one"]), max_size=30))
def test_only_the_newest_owner_ever_writes(steps: list[str]) -> None:
    log, epoch, written = MemoryRunLog(), 0, 0
    for step in steps:
        if step == "take":
            epoch = log.take_over("x")
        elif step == "write":
            written += 1
            log.append("p", event(written), epoch)
        elif epoch > 0:
            with pytest.raises(FencedError):
                log.append("p", event(written + 1), epoch - 1)
    assert [one.seq for one in log.events(RUN)] == list(range(1, written + 1))


def test_ended_runs_are_told_from_unfinished_ones(opened: Opener) -> None:
    log = opened()
    log.append("p", event(1))
    log.append("p", event(1, RunId("r-2")), ends=True)
    assert [row.run_id for row in log.unfinished()] == [RUN]
    assert {row.run_id: row.finished for row in opened().runs(9)} == {RUN: False, "r-2": True}


def test_a_new_owner_takes_up_unfinished_runs_and_issues_their_stages_again(opened: Opener) -> None:
    first = table(opened(), "first")
    run_id, commands = first.submit(Request("sample", "?"), RUN)
    first.handle(run_id, StageSucceeded(issued(commands)[0].key, {"x": 1}))
    over, _ = first.submit(Request("sample", "?"), RunId("r-over"))
    first.handle(over, CancelRequested())
    second = table(opened(), "second")
    recovered = dict(second.recover())
    assert list(recovered) == [RUN]
    (stage,) = issued(recovered[RUN])
    assert (stage.stage, stage.key.attempt) == ("b", 2)
    assert any(isinstance(command, SetTimer) for command in recovered[RUN])
    with pytest.raises(FencedError):
        first.handle(RUN, CancelRequested())
    second.handle(RUN, StageSucceeded(stage.key, {"y": 2}))
    assert second.envelope(RUN).terminal_reason == "completed"
    assert second.envelope(RUN).outputs == {"a": {"x": 1}, "b": {"y": 2}}
    assert [e.seq for e in second.client_events(RUN)] == list(range(1, len(second.client_events(RUN)) + 1))


def test_a_run_whose_rules_have_changed_is_left_alone(opened: Opener) -> None:
    first = table(opened(), "first")
    first.submit(Request("sample", "?"), RUN)
    log = opened()
    changed = PipelineBuilder().stage("a").build()
    assert list(RunTable({"sample": changed}, log, FakeClock(), owner="second").recover()) == []
    assert list(RunTable({}, log, FakeClock(), owner="third").recover()) == []
    assert len(log.events(RUN)) == 1


def test_a_deposed_owner_that_has_nothing_to_write_learns_so_when_it_asks(opened: Opener) -> None:
    first = table(opened(), "first")
    first.check_owner()
    second = table(opened(), "second")
    with pytest.raises(FencedError, match="'second' took this log over"):
        first.check_owner()
    second.check_owner()
    table(opened()).check_owner()


def test_asking_again_for_a_run_of_a_former_owner_changes_nothing(opened: Opener) -> None:
    first = table(opened(), "first")
    run_id, _ = first.submit(Request("sample", "?"), RUN)
    first.handle(run_id, CancelRequested("enough"))
    second = table(opened(), "second")
    assert second.submit(Request("sample", "other"), RUN) == (RUN, [])
    assert second.envelope(RUN).terminal_detail == "enough"


class LyingLog(MemoryRunLog):
    """A log that does what it says that it failed to do, when told to `lie`; or fails, when told to `fail`."""

    mood = "work"

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if self.mood != "fail":
            super().append_all(entries, epoch)
        if self.mood != "work":
            raise StateStorageError("timed out")


@pytest.mark.parametrize("mood", ["lie", "fail"])
def test_an_event_said_again_after_its_record_failed_takes_effect_once(mood: str) -> None:
    log = LyingLog()
    runs = table(log)
    _, commands = runs.submit(Request("sample", "?"), RUN)
    succeeded = StageSucceeded(issued(commands)[0].key, {"x": 1})
    log.mood = mood
    with pytest.raises(StateStorageError):
        runs.handle(RUN, succeeded)
    log.mood = "work"
    assert [stage.stage for stage in issued(runs.handle(RUN, succeeded))] == ["b"]
    assert runs.handle(RUN, succeeded) == []
    assert len(log.events(RUN)) == 2


def test_calls_whose_records_seemed_to_fail_one_after_the_other_are_counted_once() -> None:
    log = LyingLog()
    runs = table(log)
    _, commands = runs.submit(Request("sample", "?"), RUN)
    key = issued(commands)[0].key
    calls = [ToolCalled(key, name, "ok") for name in ("look", "search")]
    log.mood = "lie"
    for call in calls:
        with pytest.raises(StateStorageError):
            runs.handle(RUN, call)
    log.mood = "work"
    for call in calls:
        runs.handle(RUN, call)
    assert [event.payload for event in log.events(RUN)[1:]] == calls
    runs.handle(RUN, calls[0])
    assert len(log.events(RUN)) == 4, "another call that looks the same counts"


def test_what_was_recorded_after_all_is_owed_once() -> None:
    log = LyingLog()
    runs = table(log)
    _, commands = runs.submit(Request("sample", "?"), RUN)
    log.mood = "lie"
    with pytest.raises(StateStorageError):
        runs.handle(RUN, StageSucceeded(issued(commands)[0].key, {}))
    log.mood = "work"
    assert [stage.stage for stage in issued(runs.catch_up(RUN))] == ["b"]
    assert runs.catch_up(RUN) == []


@pytest.mark.parametrize("mood", ["lie", "fail"])
def test_a_request_made_again_after_its_record_failed_is_one_run(mood: str) -> None:
    log = LyingLog()
    runs = table(log)
    log.mood = mood
    with pytest.raises(StateStorageError):
        runs.submit(Request("sample", "?"), RUN)
    log.mood = "work"
    _, commands = runs.submit(Request("sample", "?"), RUN)
    assert [stage.stage for stage in issued(commands)] == ["a"]
    assert runs.running == 1


def test_a_second_answer_is_refused_although_the_record_of_the_first_seemed_to_fail() -> None:
    log = LyingLog()
    runs = table(log)
    _, commands = runs.submit(Request("sample", "?", wait=True), RUN)
    asks = InterruptRequest("clarification", "which?")
    runs.handle(RUN, StageSucceeded(issued(commands)[0].key, {}, interrupt=asks))
    interrupt = runs.envelope(RUN).interrupt
    assert interrupt is not None
    log.mood = "lie"
    with pytest.raises(StateStorageError):
        runs.answer(RUN, interrupt.id, "local", InterruptResponse("this"))
    log.mood = "work"
    with pytest.raises(InterruptError, match="resolved already"):
        runs.answer(RUN, interrupt.id, "local", InterruptResponse("that"))
    assert issued(runs.catch_up(RUN))
    kept = runs.envelope(RUN).interrupt
    assert kept is not None and kept.response is not None and kept.response.text == "this"


def test_taking_up_a_run_is_an_event_like_any_other(opened: Opener) -> None:
    table(opened(), "first").submit(Request("sample", "?"), RUN)
    log = opened()
    list(table(log, "second").recover())
    assert isinstance(log.events(RUN)[-1].payload, RunAdopted)
