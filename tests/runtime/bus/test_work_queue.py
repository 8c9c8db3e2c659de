"""Work queues of every kind: waiting for tasks, on a clock that is turned by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.errors import LeaseLostError
from runtime.primitives.clock import FakeClock
from runtime.queues.work_queue import MemoryWorkQueue, WorkQueue
from runtime.queues.work_table import WorkerId
from runtime.store.sql_work_queue import SqlWorkQueue
from tests.runtime.store.conftest import make_place

ANN, BOB = WorkerId("ann"), WorkerId("bob")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def queue(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[WorkQueue]:
    place = None if request.param == "memory" else make_place(request.param, request, tmp_path)
    made: WorkQueue = MemoryWorkQueue(clock) if place is None else SqlWorkQueue(place.open(), clock)
    for worker in (ANN, BOB):
        await made.register_worker(worker, ["q"], lease_s=10)
    yield made
    if place is not None:
        place.close()


async def test_a_task_that_is_there_is_handed_out_at_once(queue: WorkQueue) -> None:
    task_id = await queue.enqueue_task("q", b"work")
    lease = await queue.dequeue_task(ANN, timeout_s=0)
    assert lease is not None
    assert (lease.task.id, lease.task.payload) == (task_id, b"work")
    await queue.complete_task(lease.id)
    assert (await queue.queue_stats("q")).completed == 1
    assert await queue.list_queues() == ["q"]


@pytest.mark.parametrize("timeout_s", [0, 3, 25])
async def test_without_a_task_a_worker_waits_its_time_and_gets_none(
    queue: WorkQueue, clock: FakeClock, timeout_s: float
) -> None:
    waiting = asyncio.create_task(queue.dequeue_task(ANN, timeout_s))
    if timeout_s:
        await clock.advance(timeout_s - 0.001)
        assert not waiting.done()
    await clock.advance(0.001)
    assert waiting.done()
    assert waiting.result() is None


async def test_a_waiting_worker_gets_a_task_as_soon_as_there_is_one(queue: WorkQueue, clock: FakeClock) -> None:
    waiting = asyncio.create_task(queue.dequeue_task(ANN, 5))
    await clock.advance(1)
    await queue.enqueue_task("other", b"not for ann")
    await queue.enqueue_task("q", b"work")
    await clock.advance(0)
    assert waiting.done()


async def test_of_two_waiting_workers_one_gets_the_task(queue: WorkQueue, clock: FakeClock) -> None:
    waiting = [asyncio.create_task(queue.dequeue_task(worker, 5)) for worker in (ANN, BOB)]
    await clock.advance(1)
    await queue.enqueue_task("q", b"work")
    await clock.advance(5)
    assert sorted(task.result() is None for task in waiting) == [False, True]


async def test_a_worker_that_waits_longer_than_its_lease_stays_known(queue: WorkQueue, clock: FakeClock) -> None:
    waiting = asyncio.create_task(queue.dequeue_task(ANN, 100))
    await clock.advance(99)
    await queue.enqueue_task("q", b"work")
    await clock.advance(0)
    assert waiting.done()
    assert waiting.result() is not None


@pytest.mark.parametrize(("waited_s", "comes"), [(9.999, False), (10, True)])
async def test_a_waiting_worker_gets_the_task_of_a_dead_one(
    queue: WorkQueue, clock: FakeClock, waited_s: float, comes: bool
) -> None:
    await queue.enqueue_task("q", b"work")
    lost = await queue.dequeue_task(ANN, 0)
    waiting = asyncio.create_task(queue.dequeue_task(BOB, 60))
    await clock.advance(waited_s)
    assert waiting.done() is comes
    if comes and lost is not None:
        with pytest.raises(LeaseLostError):
            await queue.complete_task(lost.id)
    waiting.cancel()


@pytest.mark.parametrize(("waited_s", "comes"), [(0.999, False), (1, True)])
async def test_a_waiting_worker_gets_a_failed_task_after_its_pause(
    queue: WorkQueue, clock: FakeClock, waited_s: float, comes: bool
) -> None:
    await queue.enqueue_task("q", b"work")
    lease = await queue.dequeue_task(ANN, 0)
    assert lease is not None
    await queue.fail_task(lease.id, "once")
    waiting = asyncio.create_task(queue.dequeue_task(ANN, 60))
    await clock.advance(waited_s)
    assert waiting.done() is comes
    waiting.cancel()


async def test_a_worker_that_leaves_frees_its_task_for_a_waiting_one(queue: WorkQueue, clock: FakeClock) -> None:
    await queue.enqueue_task("q", b"work", "high", max_retries=0)
    await queue.dequeue_task(ANN, 0)
    waiting = asyncio.create_task(queue.dequeue_task(BOB, 5))
    await clock.advance(1)
    await queue.deregister_worker(ANN)
    await clock.advance(0)
    assert waiting.done()
    with pytest.raises(LeaseLostError):
        await queue.heartbeat(ANN)


async def test_a_worker_that_leaves_while_it_waits_is_told(queue: WorkQueue, clock: FakeClock) -> None:
    waiting = asyncio.create_task(queue.dequeue_task(ANN, 5))
    await clock.advance(1)
    await queue.deregister_worker(ANN)
    await clock.advance(0)
    with pytest.raises(LeaseLostError):
        await waiting


async def test_dead_tasks_are_kept_with_their_error(queue: WorkQueue) -> None:
    await queue.enqueue_task("q", b"work", max_retries=0)
    lease = await queue.dequeue_task(ANN, 0)
    assert lease is not None
    await queue.fail_task(lease.id, "broken")
    assert [(task.payload, task.error) for task in await queue.dead_tasks("q")] == [(b"work", "broken")]
    assert await queue.dead_tasks("another") == []


async def test_heartbeats_keep_a_task_for_as_long_as_it_takes(queue: WorkQueue, clock: FakeClock) -> None:
    await queue.enqueue_task("q", b"work")
    lease = await queue.dequeue_task(ANN, 0)
    assert lease is not None
    for _ in range(5):
        await clock.advance(9)
        await queue.heartbeat(ANN)
    await queue.complete_task(lease.id)
