"""Several callers, one write: each gets what its own job came to, once that is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from runtime.errors import StateStorageError, UnknownNameError
from runtime.hosting.group_commit import JOBS_AT_ONCE, GroupCommit, as_far_as_possible
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.supervision.commands import Command
from runtime.supervision.events import CancelRequested, StageSucceeded
from tests.runtime.hosting.test_together import MoodyLog, begun, stage_of

ONE, TWO = RunId("r-1"), RunId("r-2")


async def test_jobs_of_one_turn_of_the_loop_are_one_write() -> None:
    log = MoodyLog()
    runs, stages = begun(log)
    commit, before = GroupCommit(runs), log.writes

    async def succeed(run_id: RunId) -> list[Command]:
        return await commit.do(lambda: runs.handle(run_id, StageSucceeded(stages[run_id].key, {})))

    following = await asyncio.gather(succeed(ONE), succeed(TWO))
    assert [stage_of(commands).stage for commands in following] == ["b", "b"]
    assert log.writes == before + 1


async def test_nothing_is_handed_out_before_it_is_recorded() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    before = log.writes
    done = asyncio.ensure_future(GroupCommit(runs).do(lambda: runs.handle(ONE, CancelRequested())))
    while not done.done():
        assert log.writes == before
        await asyncio.sleep(0)
        if log.writes > before:
            break
    await done
    assert log.writes == before + 1


async def test_what_one_job_raises_is_its_callers_alone() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    refused, ended = await asyncio.gather(
        commit.do(lambda: runs.submit(Request("no such", "?"))),
        commit.do(lambda: runs.handle(ONE, CancelRequested())),
        return_exceptions=True,
    )
    assert isinstance(refused, UnknownNameError)
    assert not isinstance(ended, BaseException)
    assert runs.is_over(ONE)


async def test_a_write_that_fails_fails_all_that_were_in_it_and_none_that_come_after() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    log.mood = "fail"
    ends = await asyncio.gather(
        commit.do(lambda: runs.handle(ONE, CancelRequested())),
        commit.do(lambda: runs.handle(TWO, CancelRequested())),
        return_exceptions=True,
    )
    assert [type(end) for end in ends] == [StateStorageError] * 2
    await commit.do(lambda: runs.handle(ONE, CancelRequested()))
    assert (runs.is_over(ONE), runs.is_over(TWO)) == (True, False)


async def test_the_job_of_a_caller_who_was_cancelled_before_its_turn_is_not_done() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    gone = asyncio.ensure_future(commit.do(lambda: runs.handle(ONE, CancelRequested())))
    stays = asyncio.ensure_future(commit.do(lambda: runs.handle(TWO, CancelRequested())))
    await asyncio.sleep(0)
    gone.cancel()
    await stays
    assert (runs.is_over(ONE), runs.is_over(TWO)) == (False, True)


@pytest.mark.parametrize(("jobs", "writes"), [(JOBS_AT_ONCE - 1, 1), (JOBS_AT_ONCE, 1), (JOBS_AT_ONCE + 1, 2)])
async def test_no_write_holds_more_than_256_jobs_and_they_are_done_in_order(jobs: int, writes: int) -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit, before, order = GroupCommit(runs), log.writes, list[int]()

    async def submit(number: int) -> None:
        def job() -> None:
            order.append(number)
            runs.submit(Request("sample", "?"), RunId(f"r-x{number}"))

        await commit.do(job)

    await asyncio.gather(*(submit(number) for number in range(jobs)))
    assert log.writes == before + writes
    assert order == list(range(jobs))


async def test_callers_of_one_write_are_told_before_the_next_is_made() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit, seen, before = GroupCommit(runs), list[int](), log.writes

    async def submit(number: int) -> None:
        await commit.do(lambda: runs.submit(Request("sample", "?"), RunId(f"r-x{number}")))
        seen.append(log.writes - before)

    await asyncio.gather(*(submit(number) for number in range(JOBS_AT_ONCE + 1)))
    assert seen == [1] * JOBS_AT_ONCE + [2]


async def test_a_job_that_comes_while_others_are_told_is_not_forgotten() -> None:
    log = MoodyLog()
    runs, _ = begun(log)
    commit = GroupCommit(runs)
    await commit.do(lambda: runs.handle(ONE, CancelRequested()))
    for _ in range(3):
        await asyncio.wait_for(commit.do(lambda: runs.handle(TWO, CancelRequested())), 5)
    assert runs.is_over(TWO)


def test_what_came_before_a_failure_is_not_lost_with_it() -> None:
    def steps(good: int) -> Iterator[int]:
        yield from range(good)
        raise StateStorageError("no answer")

    assert as_far_as_possible(steps(2)) == [0, 1]
    assert as_far_as_possible(steps(1)) == [0]
    with pytest.raises(StateStorageError):
        as_far_as_possible(steps(0))
    assert as_far_as_possible([]) == []
