"""A write of several runs that fails is taken back whole: nothing that was owed, promised or queued is lost with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from runtime.errors import StateStorageError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.supervision.commands import Command, GiveGrant, RunStage
from runtime.supervision.events import (
    BudgetRequested,
    CancelRequested,
    QuotaExhausted,
    StageSucceeded,
    StageUsage,
    ToolCalled,
)
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.test_together import MoodyLog, begun, stage_of

ONE, TWO, THREE = RunId("r-1"), RunId("r-2"), RunId("r-3")
MODEL: dict[str, Any] = {"has_llm": True, "model_role": "m"}
PIPELINE = PipelineBuilder(max_llm_calls=9).stage("a", default_next="b", **MODEL).stage("b", **MODEL).build()


def table(log: MoodyLog, quotas: Quotas | None = None) -> RunTable:
    return RunTable({"sample": PIPELINE}, log, FakeClock(), quotas or Quotas())


def submitted(runs: RunTable, run_id: RunId, **fields: Any) -> list[Command]:
    return runs.submit(Request("sample", "?", **{"user_id": "u", "wait": True, **fields}), run_id)[1]


def stages(commands: Sequence[Command]) -> list[tuple[str, int]]:
    return [(command.stage, command.key.attempt) for command in commands if isinstance(command, RunStage)]


@pytest.mark.parametrize(("mood", "attempt"), [("fail", 2), ("lie", 3)])
def test_a_run_whose_taking_up_was_not_recorded_is_taken_up_when_it_is_tried_again(mood: str, attempt: int) -> None:
    log = MoodyLog()
    before = table(log)
    submitted(before, ONE)
    submitted(before, TWO)
    after = table(log)
    log.mood = mood
    with pytest.raises(StateStorageError), after.together():
        list(after.recover())
    with after.together():
        again = dict(after.recover())
    assert {run_id: stages(commands) for run_id, commands in again.items()} == {
        ONE: [("a", attempt)],
        TWO: [("a", attempt)],
    }
    assert list(after.recover()) == []


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_fork_that_was_not_recorded_goes_on_when_it_is_asked_for_again_under_its_id(mood: str) -> None:
    log = MoodyLog()
    runs = table(log)
    submitted(runs, ONE)
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, CancelRequested())
        runs.fork(ONE, 1, TWO)
        log.mood = mood
    with runs.together():
        forked, commands = runs.fork(ONE, 1, TWO)
    assert [stage for stage, _ in stages(commands)] == ["a"]
    assert runs.fork(ONE, 1, forked) == (TWO, [])
    assert [event.seq for event in log.events(TWO)] == list(range(1, len(log.events(TWO)) + 1))


def test_a_fork_whose_past_is_on_record_without_its_table_is_taken_up_and_waits_for_room() -> None:
    log = MoodyLog()
    submitted(table(log), ONE)
    table(log).fork(ONE, 1, TWO)
    runs = table(log, Quotas(running=1))
    list(runs.recover())
    runs.handle(ONE, CancelRequested())
    fresh = table(log, Quotas(running=0))
    _, commands = fresh.fork(ONE, 1, TWO)
    assert (stages(commands), fresh.envelope(TWO).lifecycle) == ([], "blocked")


def test_what_was_owed_since_a_write_that_lied_is_owed_again_when_the_next_write_fails() -> None:
    log = MoodyLog()
    runs, begun_stages = begun(log)
    succeeded = StageSucceeded(begun_stages[ONE].key, {})
    log.mood = "lie"
    with pytest.raises(StateStorageError):
        runs.handle(ONE, succeeded)
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        assert stage_of(runs.handle(ONE, succeeded)).stage == "b"
        runs.handle(TWO, CancelRequested())
    assert stage_of(runs.catch_up(ONE)).stage == "b"
    assert runs.catch_up(ONE) == []


def test_what_was_owed_comes_before_what_follows_and_both_come_again_when_the_write_failed() -> None:
    log = MoodyLog()
    runs, begun_stages = begun(log)
    log.mood = "lie"
    with pytest.raises(StateStorageError):
        runs.handle(ONE, StageSucceeded(begun_stages[ONE].key, {}))
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, CancelRequested())
    kinds = [type(command).__name__ for command in runs.handle(ONE, CancelRequested())]
    assert kinds.index("RunStage") < kinds.index("CancelStage")


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_tool_call_that_is_repeated_in_a_write_that_fails_is_recorded_once(mood: str) -> None:
    log = MoodyLog()
    runs, begun_stages = begun(log)
    called = ToolCalled(begun_stages[ONE].key, "search", "ok")
    log.mood = "lie"
    with pytest.raises(StateStorageError):
        runs.handle(ONE, called)
    log.mood = mood
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, called)
        runs.handle(TWO, CancelRequested())
    runs.handle(ONE, called)
    assert [type(event.payload).__name__ for event in log.events(ONE)] == ["RunRequested", "ToolCalled"]


def test_two_calls_of_the_same_kind_in_one_report_that_was_kept_after_all_are_two_when_it_is_repeated() -> None:
    log = MoodyLog()
    runs, begun_stages = begun(log)
    called = ToolCalled(begun_stages[ONE].key, "search", "ok")
    log.mood = "lie"
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, called)
        runs.handle(ONE, called)
    for _ in range(2):
        runs.handle(ONE, called)
    assert len(log.events(ONE)) == 3
    runs.handle(ONE, called)
    assert len(log.events(ONE)) == 4


def test_a_budget_that_was_granted_in_a_write_that_failed_is_granted_once() -> None:
    log = MoodyLog()
    runs = table(log)
    (stage,) = [command for command in submitted(runs, ONE) if isinstance(command, RunStage)]
    asked = BudgetRequested(stage.key, 2, 0, 0)
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, asked)
    (given,) = [command for command in runs.handle(ONE, asked) if isinstance(command, GiveGrant)]
    assert given.grant.llm_calls == 2


def test_a_run_whose_admission_was_not_recorded_keeps_its_place_before_those_that_came_later() -> None:
    log = MoodyLog()
    runs = table(log, Quotas(running=1))
    for run_id in (ONE, TWO, THREE):
        submitted(runs, run_id)
    runs.handle(ONE, CancelRequested())
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        assert [run_id for run_id, _ in runs.admit()] == [TWO]
    assert [run_id for run_id, _ in runs.admit()] == [TWO]


def test_a_queued_run_whose_end_was_not_recorded_keeps_its_place() -> None:
    log = MoodyLog()
    runs = table(log, Quotas(running=1))
    for run_id in (ONE, TWO, THREE):
        submitted(runs, run_id)
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(TWO, CancelRequested())
        runs.handle(ONE, CancelRequested())
    runs.handle(ONE, CancelRequested())
    assert [run_id for run_id, _ in runs.admit()] == [TWO]


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_run_is_told_that_its_quota_is_spent_although_the_first_word_of_it_was_not_recorded(
    grouped: bool, mood: str
) -> None:
    log = MoodyLog()
    runs = table(log, Quotas(llm_calls_per_day=2))
    (stage,) = [command for command in submitted(runs, ONE) if isinstance(command, RunStage)]
    runs.handle(ONE, BudgetRequested(stage.key, llm_calls=1))
    runs.handle(ONE, StageSucceeded(stage.key, {}, usage=StageUsage(llm_calls=2)))
    log.mood = mood
    with pytest.raises(StateStorageError):
        if grouped:
            with runs.together():
                list(runs.admit())
        else:
            list(runs.admit())
    list(runs.admit())
    told = [event.payload for event in log.events(ONE) if isinstance(event.payload, QuotaExhausted)]
    assert len(told) == 1


def test_what_a_write_that_failed_had_spent_counts_once_it_is_recorded_and_not_twice() -> None:
    log = MoodyLog()
    runs = table(log, Quotas(llm_calls_per_day=3))
    (stage,) = [command for command in submitted(runs, ONE) if isinstance(command, RunStage)]
    runs.handle(ONE, BudgetRequested(stage.key, llm_calls=1))
    succeeded = StageSucceeded(stage.key, {}, usage=StageUsage(llm_calls=2))
    log.mood = "fail"
    with pytest.raises(StateStorageError), runs.together():
        runs.handle(ONE, succeeded)
    assert not runs.has_candidates
    with runs.together():
        runs.handle(ONE, succeeded)
    assert not runs.has_candidates, "2 of 3"
    submitted(runs, TWO)
