"""What happens to several runs is recorded with one write: all of it takes effect, or nothing has happened."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import InterruptError, StateStorageError, UnknownNameError
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import Entry, MemoryRunLog
from runtime.supervision.commands import Command, RunStage
from runtime.supervision.events import CancelRequested, Payload, StageSucceeded
from runtime.supervision.replay import fold
from runtime.testing import PipelineBuilder

PIPELINE = PipelineBuilder(max_agent_hops=9, max_iterations=9).stage("a", default_next="b").stage("b").build()
ONE, TWO = RunId("r-1"), RunId("r-2")


class MoodyLog(MemoryRunLog):
    """Counts its writes; a `mood` makes the next one fail (`fail`), or be kept and said to have failed (`lie`)."""

    mood = "work"
    writes = 0

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        mood, self.mood = self.mood, "work"
        if mood != "fail":
            super().append_all(entries, epoch)
            self.writes += 1
        if mood != "work":
            raise StateStorageError("no answer")


def begun(log: MoodyLog) -> tuple[RunTable, dict[RunId, RunStage]]:
    runs = RunTable({"sample": PIPELINE}, log, FakeClock())
    return runs, {run_id: stage_of(runs.submit(Request("sample", "?"), run_id)[1]) for run_id in (ONE, TWO)}


def stage_of(commands: list[Command]) -> RunStage:
    (found,) = [command for command in commands if isinstance(command, RunStage)]
    return found


def test_what_happens_together_is_one_write() -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    before = log.writes
    with runs.together():
        following = {run_id: stage_of(runs.handle(run_id, StageSucceeded(stages[run_id].key, {}))) for run_id in stages}
        third, _ = runs.submit(Request("sample", "?"))
        assert log.writes == before
    assert log.writes == before + 1
    assert [stage.stage for stage in following.values()] == ["b", "b"]
    assert len(log.events(third)) == 1


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_nothing_has_happened_when_the_write_fails_and_it_takes_effect_once_when_it_is_said_again(mood: str) -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    succeeded = StageSucceeded(stages[ONE].key, {})
    shown = len(runs.client_events(ONE))
    log.mood = mood
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, succeeded)
        runs.handle(TWO, CancelRequested())
        runs.submit(Request("sample", "?"), RunId("r-3"))
    assert (runs.is_over(TWO), len(runs.client_events(ONE)), runs.running) == (False, shown, 2)
    assert stage_of(runs.handle(ONE, succeeded)).stage == "b"
    assert runs.handle(ONE, succeeded) == []
    runs.handle(TWO, CancelRequested())
    assert (runs.is_over(TWO), len(log.events(ONE)), len(log.events(TWO))) == (True, 2, 2)
    again, commands = runs.submit(Request("sample", "?"), RunId("r-3"))
    assert stage_of(commands).stage == "a"
    assert [event.seq for event in log.events(again)] == ([1, 2] if mood == "lie" else [1])


def test_who_breaks_off_in_the_middle_leaves_everything_as_it_was() -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    with pytest.raises(UnknownNameError), runs.together():
        runs.handle(ONE, StageSucceeded(stages[ONE].key, {}))
        runs.answer(RunId("r-none"), "q", "local", None)  # type: ignore[arg-type]
    assert runs.envelope(ONE).current_stage == "a"
    assert stage_of(runs.handle(ONE, StageSucceeded(stages[ONE].key, {}))).stage == "b"


def test_a_refused_answer_inside_leaves_the_others_their_effect() -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    with runs.together():
        runs.handle(ONE, StageSucceeded(stages[ONE].key, {}))
        with pytest.raises(InterruptError):
            runs.answer(TWO, "q", "local", None)  # type: ignore[arg-type]
    assert runs.envelope(ONE).current_stage == "b"


@given(st.integers(0, 2**32 - 1))
def test_whatever_is_grouped_and_whatever_fails_the_table_is_the_fold_of_its_log(seed: int) -> None:
    dice = random.Random(seed)
    log = MoodyLog()
    runs, stages = begun(log)
    for _ in range(12):
        log.mood = dice.choice(["work", "work", "fail", "lie"])
        said: list[tuple[RunId, Payload]] = []
        for _ in range(dice.randint(1, 4)):
            run_id = dice.choice((ONE, TWO))
            payload = CancelRequested() if dice.random() < 0.05 else StageSucceeded(stages[run_id].key, {})
            said.append((run_id, payload))
        _say(runs, stages, said)
        log.mood = "work"
        _say(runs, stages, said)
        for run_id in (ONE, TWO):
            stages[run_id] = (_issued(runs.catch_up(run_id)) or [stages[run_id]])[-1]
            assert runs.envelope(run_id) == fold(PIPELINE, log.events(run_id)).envelope
            events = runs.client_events(run_id)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))


def _say(runs: RunTable, stages: dict[RunId, RunStage], said: list[tuple[RunId, Payload]]) -> None:
    given: dict[RunId, RunStage] = {}
    try:
        with runs.together():
            for run_id, payload in said:
                for stage in _issued(runs.handle(run_id, payload)):
                    given[run_id] = stage
    except StateStorageError:
        return  # nothing of the group was kept, so that no stage was given out
    stages |= given


def _issued(commands: list[Command]) -> list[RunStage]:
    return [command for command in commands if isinstance(command, RunStage)]
