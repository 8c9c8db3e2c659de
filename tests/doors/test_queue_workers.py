"""The workers behind `jeeves batch`: every task ends once, whatever happens to those that work on it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from runtime.errors import ClusterError, InputError
from runtime.primitives.clock import FakeClock
from runtime.queues.work_queue import MemoryWorkQueue
from runtime.queues.work_table import MAX_LOST_LEASES, Task, WorkerId
from serve.batch.queue_workers import IDLE_S, MAX_RETRIES, QueueWorkers, error_in


class Shop:
    """Workers on a queue with a clock that is turned by hand, and how each payload ended."""

    def __init__(self, handle: Any, **options: Any) -> None:
        self.clock = FakeClock()
        self.queue = MemoryWorkQueue(self.clock)
        self.done: list[tuple[bytes, Any]] = []
        self.dead: list[Task] = []
        self.workers = QueueWorkers(
            self.queue, "q", self.clock, handle, lambda *ended: self.done.append(ended), self.dead.append, **options
        )

    async def work_off(self, payloads: list[bytes], workers: int = 2, patience_s: float = 600) -> None:
        working = asyncio.create_task(self.workers.work_off(payloads, workers))
        for _ in range(int(patience_s)):
            for _ in range(20):
                await asyncio.sleep(0)
            if working.done():
                break
            await self.clock.advance(1)
        assert working.done(), "not done in time"
        await working


async def test_every_payload_is_done_once_and_workers_go_when_nothing_is_left() -> None:
    async def handle(payload: bytes) -> int:
        return int(payload) * 2

    shop = Shop(handle)
    await shop.work_off([b"%d" % number for number in range(20)], workers=3)
    assert sorted(shop.done, key=lambda ended: int(ended[0])) == [(b"%d" % n, n * 2) for n in range(20)]
    assert shop.dead == []
    stats = await shop.queue.queue_stats("q")
    assert (stats.completed, stats.ready, stats.leased, stats.delayed, stats.dead) == (20, 0, 0, 0, 0)


async def test_nothing_to_do_is_done_at_once() -> None:
    shop = Shop(lambda payload: pytest.fail("nothing was given"))
    await shop.work_off([], patience_s=1)


@pytest.mark.parametrize("failures", [MAX_RETRIES - 1, MAX_RETRIES, MAX_RETRIES + 1])
async def test_a_failure_is_tried_again_so_often_and_then_told_as_it_was(failures: int) -> None:
    tries: Counter[bytes] = Counter()

    async def handle(payload: bytes) -> str:
        tries[payload] += 1
        if payload == b"bad" and tries[payload] <= failures:
            raise ClusterError("gone", pid=7)
        return "fine"

    shop = Shop(handle)
    await shop.work_off([b"bad", b"good"])
    if failures <= MAX_RETRIES:
        assert sorted(shop.done) == [(b"bad", "fine"), (b"good", "fine")]
        assert tries[b"bad"] == failures + 1
    else:
        assert shop.done == [(b"good", "fine")]
        assert tries[b"bad"] == MAX_RETRIES + 1
        assert [(task.payload, error_in(task)) for task in shop.dead] == [
            (b"bad", {"code": "cluster", "message": "gone", "values": {"pid": 7}})
        ]


async def test_wrong_input_is_not_tried_again() -> None:
    tries = 0

    async def handle(_payload: bytes) -> None:
        nonlocal tries
        tries += 1
        raise InputError("no such folder")

    shop = Shop(handle)
    await shop.work_off([b"x"])
    assert tries == 1
    assert [error_in(task)["code"] for task in shop.dead] == ["bad_input"]


async def test_work_that_takes_longer_than_a_lease_is_done_once() -> None:
    tries = 0

    async def handle(_payload: bytes) -> str:
        nonlocal tries
        tries += 1
        await shop.clock.sleep(100)
        return "late"

    shop = Shop(handle, lease_s=30)
    await shop.work_off([b"x"])
    assert (tries, shop.done) == (1, [(b"x", "late")])


async def test_a_task_that_another_worker_lost_too_often_is_told_as_dead() -> None:
    async def handle(_payload: bytes) -> None:
        raise AssertionError("another worker has it")

    shop = Shop(handle)
    thief = WorkerId("thief")
    working = asyncio.create_task(shop.workers.work_off([b"x"], 0))
    await shop.clock.advance(0)
    for _ in range(MAX_LOST_LEASES):
        await shop.queue.register_worker(thief, ["q"], 1.0)
        assert await shop.queue.dequeue_task(thief, 0) is not None
        await shop.clock.advance(1)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    idle = asyncio.create_task(shop.workers._work(WorkerId("idle")))
    for _ in range(3):
        await shop.clock.advance(IDLE_S)
    idle.cancel()
    await asyncio.gather(idle, return_exceptions=True)
    assert [error_in(task) for task in shop.dead] == [{"code": "work_queue", "message": "worker thief was lost"}]


async def test_an_error_that_is_a_bug_is_told_with_its_kind() -> None:
    async def handle(_payload: bytes) -> None:
        raise ZeroDivisionError("oops")

    shop = Shop(handle, max_retries=0)
    await shop.work_off([b"x"])
    assert error_in(shop.dead[0]) == {"code": "internal", "message": "ZeroDivisionError: oops"}


async def test_what_cannot_be_written_down_ends_the_work_with_that_error() -> None:
    async def handle(_payload: bytes) -> str:
        return "fine"

    def full(_payload: bytes, _result: Any) -> None:
        raise OSError(28, "no space left")

    shop = Shop(handle)
    shop.workers = QueueWorkers(shop.queue, "q", shop.clock, handle, full, shop.dead.append)
    with pytest.raises(OSError, match="no space left"):
        await shop.work_off([b"x", b"y"])
