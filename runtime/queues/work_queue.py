"""Hands out tasks to workers that come and go; each is done once or kept as a dead letter.

`jeeves batch` spreads questions over workers with work queues (`serve.batch.queue_workers`). `MemoryWorkQueue` keeps
tasks as long as its process lives; `runtime.store.sql_work_queue` keeps them in a database, for workers of any process,
by the same rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from runtime.pipeline.run_terms import Priority
from runtime.primitives.clock import Clock, wait_at_most
from runtime.queues.work_table import Lease, LeaseId, QueueStats, Task, TaskId, WorkerId, WorkTable

DEFAULT_LEASE_S = 30.0
DEFAULT_MAX_RETRIES = 3


class WorkQueue(Protocol):
    """Hands tasks to workers, one worker at a time."""

    async def enqueue_task(
        self,
        queue: str,
        payload: bytes,
        priority: Priority = "normal",
        max_retries: int = DEFAULT_MAX_RETRIES,
        dedup_key: str | None = None,
    ) -> TaskId:
        """Add a task and return its id, or the id of a pending task with that key. Raises QueueFullError."""

    async def dequeue_task(self, worker: WorkerId, timeout_s: float) -> Lease | None:
        """Return the next task for a worker, or None when there was none in time. Raises LeaseLostError."""

    async def complete_task(self, lease: LeaseId) -> None:
        """Mark the task as done. Raises LeaseLostError when the worker no longer holds it."""

    async def fail_task(self, lease: LeaseId, error: str, retry: bool = True) -> None:
        """Mark the task as failed; it is retried later unless `retry` is False or no retries are left.

        Raises LeaseLostError when the worker no longer holds it.
        """

    async def register_worker(self, worker: WorkerId, queues: Iterable[str], lease_s: float = DEFAULT_LEASE_S) -> None:
        """Register a worker of `queues`; after `lease_s` without a heartbeat its tasks go to others."""

    async def deregister_worker(self, worker: WorkerId) -> None:
        """Remove a worker and return its tasks to their queues at once."""

    async def heartbeat(self, worker: WorkerId) -> None:
        """Renew a worker's lease. Raises LeaseLostError when it is over already."""

    async def queue_stats(self, queue: str) -> QueueStats:
        """Return the number of tasks of a queue by state."""

    async def list_queues(self) -> list[str]:
        """Return the names of all queues."""

    async def dead_tasks(self, queue: str) -> list[Task]:
        """Return the tasks that were given up, with their last error, oldest first."""


class TaskTable(Protocol):
    """Keeps the tasks, workers and leases of queues: `WorkTable` in memory, `SqlWorkTable` in a database."""

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        priority: Priority,
        max_retries: int,
        dedup_key: str | None,
        now_ms: int,
        /,
    ) -> TaskId: ...

    def register(self, worker: WorkerId, queues: Iterable[str], lease_ms: int, now_ms: int) -> None: ...

    def deregister(self, worker: WorkerId, now_ms: int) -> None: ...

    def heartbeat(self, worker: WorkerId, now_ms: int) -> None: ...

    def dequeue(self, worker: WorkerId, now_ms: int) -> Lease | None: ...

    def complete(self, lease_id: LeaseId, now_ms: int) -> None: ...

    def fail(self, lease_id: LeaseId, retry: bool, error: str, now_ms: int) -> None: ...

    def advance(self, now_ms: int) -> None: ...

    def may_have_changed(self, worker: WorkerId, now_ms: int) -> bool: ...

    def next_change_ms(self) -> int | None: ...

    def half_lease_ms(self, worker: WorkerId) -> int: ...

    def stats(self, queue: str) -> QueueStats: ...

    def queues(self) -> list[str]: ...

    @property
    def dead(self) -> Iterable[Task]: ...


class TableQueue:
    """Waits for what a table of tasks brings: the `WorkQueue` of every table.

    `poll_s`: how often a waiting worker looks for what other processes put there; None when there are none.
    """

    def __init__(self, table: TaskTable, clock: Clock, poll_s: float | None = None) -> None:
        self._table = table
        self._clock = clock
        self._poll_s = poll_s
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

    async def _wait_for_change(self, longest_ms: int) -> None:
        next_ms = self._table.next_change_ms()
        pause_ms = longest_ms if next_ms is None else min(longest_ms, next_ms - self._clock.now_ms())
        pause_s = max(pause_ms, 1) / 1000
        try:
            await wait_at_most(self._clock, min(pause_s, self._poll_s or pause_s), self._changed.wait())
        except TimeoutError:
            return

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class MemoryWorkQueue(TableQueue):
    """Keeps work queues in one process, on one event loop."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(WorkTable(), clock)
