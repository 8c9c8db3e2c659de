"""Hands out tasks to workers that come and go; each is done once or kept as a dead letter.

`jeeves batch` spreads questions over workers with work queues (`serve.batch.queue_workers`). `MemoryWorkQueue` keeps
tasks as long as its process lives; `runtime.store.sql_work_queue` keeps them in a database, for workers of any process,
by the same rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from runtime.pipeline.config import Priority
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


class MemoryWorkQueue:
    """Keeps work queues in one process, on one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._table = WorkTable()
        self._changed = asyncio.Event()

    async def enqueue_task(
        self,
        queue: str,
        payload: bytes,
        priority: Priority = "normal",
        max_retries: int = DEFAULT_MAX_RETRIES,
        dedup_key: str | None = None,
    ) -> TaskId:
        task_id = self._table.enqueue(queue, payload, priority, max_retries, dedup_key)
        self._wake()
        return task_id

    async def dequeue_task(self, worker: WorkerId, timeout_s: float) -> Lease | None:
        until_ms = self._now_ms() + round(timeout_s * 1000)
        while True:
            lease = self._table.dequeue(worker, self._now_ms())
            left_ms = until_ms - self._now_ms()
            if lease is not None or left_ms <= 0:
                return lease
            # A worker that waits here is alive: dequeuing again before its lease is over renews that.
            await self._wait_for_change(min(left_ms, self._table.half_lease_ms(worker)))

    async def complete_task(self, lease: LeaseId) -> None:
        self._table.complete(lease, self._now_ms())

    async def fail_task(self, lease: LeaseId, error: str, retry: bool = True) -> None:
        self._table.fail(lease, retry, error, self._now_ms())
        self._wake()

    async def register_worker(self, worker: WorkerId, queues: Iterable[str], lease_s: float = DEFAULT_LEASE_S) -> None:
        self._table.register(worker, queues, round(lease_s * 1000), self._now_ms())
        self._wake()

    async def deregister_worker(self, worker: WorkerId) -> None:
        self._table.deregister(worker, self._now_ms())
        self._wake()

    async def heartbeat(self, worker: WorkerId) -> None:
        self._table.heartbeat(worker, self._now_ms())

    async def queue_stats(self, queue: str) -> QueueStats:
        self._table.advance(self._now_ms())
        return self._table.stats(queue)

    async def list_queues(self) -> list[str]:
        return self._table.queues()

    async def dead_tasks(self, queue: str) -> list[Task]:
        self._table.advance(self._now_ms())
        return [task for task in self._table.dead if task.queue == queue]

    async def _wait_for_change(self, longest_ms: int) -> None:
        next_ms = self._table.next_change_ms()
        pause_ms = longest_ms if next_ms is None else min(longest_ms, next_ms - self._now_ms())
        try:
            await wait_at_most(self._clock, max(pause_ms, 1) / 1000, self._changed.wait())
        except TimeoutError:
            return

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * 1000)
