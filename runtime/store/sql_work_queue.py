"""Work queues in a database: any process may put tasks in, and any may take them.

Each call is one short transaction, made on the caller's event loop. Who waits for a task looks for one every
`POLL_S`, because another process may have put it there; looking writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from runtime.database.database import Database
from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.pipeline.config import Priority
from runtime.primitives.clock import Clock, wait_at_most
from runtime.queues.work_queue import DEFAULT_LEASE_S, DEFAULT_MAX_RETRIES
from runtime.queues.work_table import Lease, LeaseId, QueueStats, Task, TaskId, WorkerId
from runtime.store.sql_work_table import SCHEMA, OldTasks, SqlWorkTable

POLL_S = 0.2


class SqlWorkQueue:
    """See `runtime.queues.work_queue.WorkQueue`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self._table = SqlWorkTable(database)
        self._changed = asyncio.Event()

    async def enqueue_task(
        self,
        queue: str,
        payload: bytes,
        priority: Priority = "normal",
        max_retries: int = DEFAULT_MAX_RETRIES,
        dedup_key: str | None = None,
    ) -> TaskId:
        task_id = self._table.enqueue(queue, payload, priority, max_retries, dedup_key, self._clock.now_ms())
        self._wake()
        return task_id

    async def dequeue_task(self, worker: WorkerId, timeout_s: float) -> Lease | None:
        until_ms = self._clock.now_ms() + round(timeout_s * 1000)
        heard_again_ms = 0
        while True:
            now_ms = self._clock.now_ms()
            if now_ms >= heard_again_ms or self._table.may_have_changed(worker, now_ms):
                lease = self._table.dequeue(worker, now_ms)
                if lease is not None:
                    return lease
                # A worker that waits here is alive: it is heard of again before its own lease is over.
                heard_again_ms = now_ms + self._table.half_lease_ms(worker)
            if now_ms >= until_ms:
                return None
            await self._wait_for_change(min(until_ms, heard_again_ms) - now_ms)

    async def complete_task(self, lease: LeaseId) -> None:
        self._table.complete(lease, self._clock.now_ms())

    async def fail_task(self, lease: LeaseId, error: str, retry: bool = True) -> None:
        self._table.fail(lease, retry, error, self._clock.now_ms())
        self._wake()

    async def register_worker(self, worker: WorkerId, queues: Iterable[str], lease_s: float = DEFAULT_LEASE_S) -> None:
        self._table.register(worker, queues, round(lease_s * 1000), self._clock.now_ms())
        self._wake()

    async def deregister_worker(self, worker: WorkerId) -> None:
        self._table.deregister(worker, self._clock.now_ms())
        self._wake()

    async def heartbeat(self, worker: WorkerId) -> None:
        self._table.heartbeat(worker, self._clock.now_ms())

    async def queue_stats(self, queue: str) -> QueueStats:
        self._table.advance(self._clock.now_ms())
        return self._table.stats(queue)

    async def list_queues(self) -> list[str]:
        return self._table.queues()

    async def dead_tasks(self, queue: str) -> list[Task]:
        self._table.advance(self._clock.now_ms())
        return [task for task in self._table.dead if task.queue == queue]

    def old_tasks(self, before_ms: int, prefix: str, drop: bool) -> OldTasks:
        """See `SqlWorkTable.old` and `drop_old`."""
        act = self._table.drop_old if drop else self._table.old
        return act(before_ms, prefix, self._clock.now_ms())

    async def _wait_for_change(self, longest_ms: int) -> None:
        next_ms = self._table.next_change_ms()
        pause_ms = longest_ms if next_ms is None else min(longest_ms, next_ms - self._clock.now_ms())
        try:
            await wait_at_most(self._clock, min(max(pause_ms, 1) / 1000, POLL_S), self._changed.wait())
        except TimeoutError:
            return

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _sweep(queue: SqlWorkQueue, task: SweepTask) -> Dropped:
    old = queue.old_tasks(task.before_ms, task.disposable_queues, drop=not task.is_dry)
    return Dropped(dict(zip((_DEAD.key, _ABANDONED.key), old, strict=True)), any(old))


_DEAD = Counted("dead_letters", "dead letter", "dead letters")
_ABANDONED = Counted("abandoned_tasks", "task of an abandoned batch", "tasks of abandoned batches")

WORK_QUEUES = StorePart(
    name="queues",
    label="work queues",
    schema=SCHEMA,
    open=SqlWorkQueue,
    counted=(_DEAD, _ABANDONED),
    sweep=_sweep,
)
