"""Several callers, one write: each gets what its own job came to, once that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.errors import StateStorageError, UnknownNameError
from runtime.hosting.group_commit import JOBS_AT_ONCE, GroupCommit, Job, collect_until_failure
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.supervision.commands import Command
from runtime.supervision.events import CancelRequested, StageSucceeded
from tests.runtime.hosting.test_together import MoodyLog, begun, stage_of

ONE, TWO = RunId("r-1"), RunId("r-2")


def job(action: Callable[[], Any], token: object = None) -> Job[Any]:
    return Job(action, lambda _: None, lambda _: None, token)


def test_jobs_that_wait_for_a_write_have_one() -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    commit, before = GroupCommit(runs), log.writes

    def succeed(run_id: RunId) -> Callable[[], list[Command]]:
        return lambda: runs.handle(run_id, StageSucceeded(stages[run_id].key, {}))

    for run_id in (ONE, TWO):
        commit.add(job(succeed(run_id)))
    assert log.writes == before
    following = [commands for _, commands, _ in commit.write()]
    assert [stage_of(commands).stage for commands in following] == ["b", "b"]
    assert log.writes == before + 1
    assert commit.write() == []


@pytest.mark.parametrize("is_one_event", [False, True])
def test_a_job_that_is_alone_has_a_write_of_its_own(is_one_event: bool) -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit, before = GroupCommit(runs), log.writes
    alone = Job(lambda: runs.handle(ONE, CancelRequested()), lambda _: None, lambda _: None, None, is_one_event)
    commit.add(alone)
    log.mood = "fail"
    assert [type(error) for _, _, error in commit.write()] == [StateStorageError]
    commit.add(alone)
    assert [error for _, _, error in commit.write()] == [None]
    assert (log.writes, runs.is_over(ONE)) == (before + 1, True)


def test_what_one_job_raises_is_its_callers_alone() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    commit.add(job(lambda: runs.submit(Request("no such", "?"))))
    commit.add(job(lambda: runs.handle(ONE, CancelRequested())))
    refused, ended = (error for _, _, error in commit.write())
    assert isinstance(refused, UnknownNameError)
    assert ended is None
    assert runs.is_over(ONE)


def test_a_write_that_fails_fails_all_that_were_in_it_and_none_that_come_after() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    log.mood = "fail"
    for run_id in (ONE, TWO):
        commit.add(job(lambda run_id=run_id: runs.handle(run_id, CancelRequested())))  # type: ignore[misc]
    assert [type(error) for _, _, error in commit.write()] == [StateStorageError] * 2
    commit.add(job(lambda: runs.handle(ONE, CancelRequested())))
    commit.write()
    assert (runs.is_over(ONE), runs.is_over(TWO)) == (True, False)


def test_the_job_of_a_caller_who_went_before_its_turn_is_not_done() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    gone, stays = object(), object()
    commit.add(job(lambda: runs.handle(ONE, CancelRequested()), gone))
    commit.add(job(lambda: runs.handle(TWO, CancelRequested()), stays))
    commit.withdraw(gone)
    commit.write()
    assert (runs.is_over(ONE), runs.is_over(TWO)) == (False, True)


@pytest.mark.parametrize(("jobs", "writes"), [(JOBS_AT_ONCE - 1, 1), (JOBS_AT_ONCE, 1), (JOBS_AT_ONCE + 1, 2)])
def test_no_write_holds_more_than_256_jobs_and_they_are_done_in_order(jobs: int, writes: int) -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit, before, order = GroupCommit(runs), log.writes, list[int]()

    def submit(number: int) -> Callable[[], None]:
        def action() -> None:
            order.append(number)
            runs.submit(Request("sample", "?"), RunId(f"r-x{number}"))

        return action

    for number in range(jobs):
        commit.add(job(submit(number)))
    while commit.waiting:
        commit.write()
    assert log.writes == before + writes
    assert order == list(range(jobs))


def test_what_came_before_a_failure_is_not_lost_with_it() -> None:
    def steps(good: int) -> Iterator[int]:
        yield from range(good)
        raise StateStorageError("no answer")

    assert collect_until_failure(steps(2)) == [0, 1]
    assert collect_until_failure(steps(1)) == [0]
    with pytest.raises(StateStorageError):
        collect_until_failure(steps(0))
    assert collect_until_failure([]) == []
