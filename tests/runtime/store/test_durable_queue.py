"""Durable queues: they do exactly what those in memory do, for workers of any process, and survive all of them."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import LeaseLostError, QueueFullError, StateStorageError
from runtime.pipeline.run_terms import Priority
from runtime.primitives.clock import FakeClock
from runtime.queues import work_table
from runtime.queues.work_table import Lease, LeaseId, WorkerId, WorkTable
from runtime.store.sql_work_queue import SqlWorkQueue
from runtime.store.sql_work_table import SqlWorkTable
from tests.examples import long_but
from tests.runtime.store.conftest import Place

ANN, BOB = WorkerId("ann"), WorkerId("bob")
LEASE_MS = 10_000
Call = Callable[[Any], Any]


def drawn(dice: random.Random, leases: list[LeaseId], now_ms: int) -> Call:
    """One call with arguments as the dice fall."""
    worker, queue = dice.choice([ANN, BOB]), dice.choice(["q", "q", "other"])
    priority, key = dice.choice(list(work_table.RANKS)), dice.choice([None, "k"])
    lease_id = dice.choice(leases[-4:])
    retries, retry = dice.randrange(3), dice.random() < 0.8
    queues = dice.choice([("q",), ("q", "other"), ("q", "q")])
    calls: dict[str, Call] = {
        "enqueue": lambda table: table.enqueue(queue, b"\x00x", priority, retries, key),
        "dequeue": lambda table: table.dequeue(worker, now_ms),
        "register": lambda table: table.register(worker, queues, LEASE_MS, now_ms),
        "leave": lambda table: table.deregister(worker, now_ms),
        "fail": lambda table: table.fail(lease_id, retry, "why", now_ms),
        "complete": lambda table: table.complete(lease_id, now_ms),
        "beat": lambda table: table.heartbeat(worker, now_ms),
    }
    return calls[dice.choice([*calls, *["enqueue", "dequeue"] * 3])]


def outcome(call: Call, table: WorkTable | SqlWorkTable) -> Any:
    try:
        return call(table)
    except (LeaseLostError, QueueFullError) as error:
        return type(error), error.message


def seen(table: WorkTable | SqlWorkTable) -> list[Any]:
    return [table.stats("q"), table.stats("other"), table.queues(), list(table.dead), table.next_change_ms()]


@pytest.mark.parametrize("seed", long_but(range(3), 0))
def test_whatever_is_done_a_durable_queue_does_what_one_in_memory_does(
    place: Place, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_table, "MAX_PENDING_PER_QUEUE", 12)
    dice = random.Random(seed)
    memory, durable = WorkTable(), SqlWorkTable(place.open())
    leases: list[LeaseId] = [LeaseId("l-0")]
    now_ms = 1_000
    for _ in range(150):
        now_ms += dice.choice([0, 0, 1, 999, 2_000, LEASE_MS - 1, LEASE_MS])
        call = drawn(dice, leases, now_ms)
        theirs, ours = outcome(call, memory), outcome(call, durable)
        if isinstance(theirs, Lease):
            assert isinstance(ours, Lease)
            leases.append(ours.id)
        assert ours == theirs
        memory.advance(now_ms)
        durable.advance(now_ms)
        assert seen(durable) == seen(memory)


def test_a_pending_task_is_not_taken_in_twice(place: Place) -> None:
    for table in (WorkTable(), SqlWorkTable(place.open())):
        table.register(ANN, ["q", "r"], LEASE_MS, 0)
        first = table.enqueue("q", b"x", "normal", 0, "key")
        assert table.enqueue("q", b"y", "high", 0, "key") == first
        assert table.enqueue("r", b"x", "normal", 0, "key") != first
        assert table.enqueue("q", b"x", "normal", 0) != first
        lease = table.dequeue(ANN, 0)
        assert lease is not None and lease.task.id == first
        assert table.enqueue("q", b"y", "high", 0, "key") == first
        table.fail(lease.id, False, "no", 0)
        again = table.enqueue("q", b"y", "high", 0, "key")
        assert again != first
        lease = table.dequeue(ANN, 0)
        assert lease is not None and lease.task.id == again
        table.complete(lease.id, 0)
        assert table.enqueue("q", b"y", "high", 0, "key") != again


def test_tasks_outlive_the_processes_and_leases_too(place: Place) -> None:
    first = SqlWorkTable(place.open())
    first.register(ANN, ["q"], LEASE_MS, 0)
    task_id = first.enqueue("q", b"work", "high", 1)
    lease = first.dequeue(ANN, 0)
    assert lease is not None
    second = SqlWorkTable(place.open())
    second.register(BOB, ["q"], LEASE_MS, 1)
    assert second.dequeue(BOB, 2) is None
    second.complete(lease.id, 3)
    assert first.stats("q").completed == 1
    assert task_id == lease.task.id


def test_many_workers_at_once_never_hold_one_task_twice(place: Place) -> None:
    first = SqlWorkTable(place.open())
    tasks = {first.enqueue("q", b"%d" % number, "normal", 0) for number in range(60)}
    taken: list[str] = []
    failed: list[Exception] = []

    def work(worker: WorkerId) -> None:
        try:
            table = SqlWorkTable(place.open())
            table.register(worker, ["q"], LEASE_MS, 0)
            while (lease := table.dequeue(worker, 0)) is not None:
                taken.append(lease.task.id)
                table.complete(lease.id, 0)
        except StateStorageError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(WorkerId(f"w-{number}"),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(taken) == sorted(tasks)


async def test_a_task_that_another_process_puts_in_reaches_a_waiting_worker(place: Place) -> None:
    clock = FakeClock()
    here, there = SqlWorkQueue(place.open(), clock), SqlWorkQueue(place.open(), clock)
    await here.register_worker(ANN, ["q"])
    waiting = asyncio.create_task(here.dequeue_task(ANN, 10))
    await clock.advance(1)
    await there.enqueue_task("q", b"work")
    await clock.advance(0.2)
    assert waiting.done()


@pytest.mark.parametrize("priority", ["realtime", "idle"])
def test_what_does_not_fit_a_text_column_is_kept_all_the_same(place: Place, priority: Priority) -> None:
    table = SqlWorkTable(place.open())
    table.register(ANN, ["q"], LEASE_MS, 0)
    table.enqueue("q", bytes(range(256)), priority, 0)
    lease = table.dequeue(ANN, 0)
    assert lease is not None and lease.task.payload == bytes(range(256))
    table.fail(lease.id, False, "odd \x00 text", 0)
    assert [task.error for task in table.dead] == ["odd \ufffd text"]
