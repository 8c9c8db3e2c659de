"""Runs the workers of one queue in this process: they lease tasks, renew leases and report outcomes.

Every task ends as done, with its result, or as dead, with its last error. Any `WorkQueue` will do, including one that
outlives this process and is shared with workers of other processes. The outcome is reported before the queue forgets
the task, so that no kill can lose it. A worker that lost its lease may report a task that another worker reports too:
`on_done` and `on_dead` must be idempotent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from runtime.bus.queries import error_to_wire
from runtime.errors import InputError, LeaseLostError, QueueFullError
from runtime.primitives.clock import Clock
from runtime.queues.work_queue import DEFAULT_LEASE_S, WorkQueue
from runtime.queues.work_table import Lease, Task, TaskId, WorkerId

log = logging.getLogger(__name__)

MAX_RETRIES = 2
IDLE_S = 5.0
ROOM_POLL_S = 0.5

Handle = Callable[[bytes], Awaitable[Any]]


class QueueWorkers:
    """Processes payloads: `handle` works on one, `on_done` and `on_dead` receive the outcome.

    A `handle` that raises is retried `max_retries` times, after the delay of the queue; an InputError is not retried,
    since the same input would fail again. `error_in` decodes the error of a dead task. `name` is the name of the queue.
    For a shared queue: `key_of` returns the deduplication key of a payload, `has_ended` whether its outcome was already
    reported, `worker_names` are unique names, and `on_idle` is called whenever there is no task to lease.
    """

    def __init__(
        self,
        queue: WorkQueue,
        name: str,
        clock: Clock,
        handle: Handle,
        on_done: Callable[[bytes, Any], None],
        on_dead: Callable[[Task], None],
        max_retries: int = MAX_RETRIES,
        lease_s: float = DEFAULT_LEASE_S,
        idle_s: float = IDLE_S,
        key_of: Callable[[bytes], str | None] = lambda _payload: None,
        has_ended: Callable[[bytes], bool] = lambda _payload: False,
        worker_names: Sequence[str] = (),
        on_idle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._queue = queue
        self._name = name
        self._clock = clock
        self._handle = handle
        self._on_done = on_done
        self._on_dead = on_dead
        self._max_retries = max_retries
        self._lease_s = lease_s
        self._idle_s = idle_s
        self._key_of = key_of
        self._has_ended = has_ended
        self._worker_names = worker_names
        self._on_idle = on_idle
        self._open: dict[TaskId, bytes] = {}
        self._ended_early: set[TaskId] = set()
        self._all_given = False
        self._finished = asyncio.Event()

    async def work_off(self, payloads: Sequence[bytes], workers: int) -> None:
        """Process all payloads; return when each is done or dead. Raises what `on_done` or `on_dead` raised."""
        try:
            async with asyncio.TaskGroup() as group:
                names = self._worker_names or [f"{self._name}-{n}" for n in range(workers)]
                working = [group.create_task(self._work(WorkerId(name))) for name in names[:workers]]
                await self._give(payloads)
                await self._finished.wait()
                for worker in working:
                    worker.cancel()
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _give(self, payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            while True:
                try:
                    task_id = await self._queue.enqueue_task(
                        self._name, payload, max_retries=self._max_retries, dedup_key=self._key_of(payload)
                    )
                except QueueFullError:
                    await self._clock.sleep(ROOM_POLL_S)
                    continue
                if task_id in self._ended_early:
                    self._ended_early.discard(task_id)
                else:
                    self._open[task_id] = payload
                break
        self._all_given = True
        self._look_whether_finished()

    async def _work(self, worker: WorkerId) -> None:
        await self._queue.register_worker(worker, [self._name], self._lease_s)
        try:
            while True:
                try:
                    lease = await self._queue.dequeue_task(worker, self._idle_s)
                except LeaseLostError:
                    await self._queue.register_worker(worker, [self._name], self._lease_s)
                    continue
                if lease is None:
                    await self._look_around()
                else:
                    await self._carry_out(lease)
        finally:
            await self._queue.deregister_worker(worker)

    async def _carry_out(self, lease: Lease) -> None:
        beating = asyncio.create_task(self._keep_alive(lease.worker))
        try:
            result = await self._handle(lease.task.payload)
        except Exception as error:
            log.info("task.failed", extra={"task": lease.task.id}, exc_info=True)
            await self._went_wrong(lease, error)
        else:
            self._on_done(lease.task.payload, result)
            with suppress(LeaseLostError):  # another worker has it by now, and reports it too
                await self._queue.complete_task(lease.id)
            self._settle(lease.task.id)
        finally:
            beating.cancel()

    async def _went_wrong(self, lease: Lease, error: Exception) -> None:
        is_final = isinstance(error, InputError) or lease.task.failures >= self._max_retries
        told = msgspec.json.encode(error_to_wire(error)).decode()
        # Another worker has the task by now, and reports on it.
        with suppress(LeaseLostError):
            await self._queue.fail_task(lease.id, told, retry=not is_final)
            if is_final:
                self._on_dead(msgspec.structs.replace(lease.task, error=told))
                self._settle(lease.task.id)

    async def _look_around(self) -> None:
        """Settle tasks that ended elsewhere: one that lost too many workers is dead without a worker to report it."""
        if self._on_idle is not None:
            await self._on_idle()
        for task in await self._queue.dead_tasks(self._name):
            if task.id in self._open:
                self._on_dead(task)
                self._settle(task.id)
        for task_id, payload in list(self._open.items()):
            if self._has_ended(payload):
                self._settle(task_id)

    async def _keep_alive(self, worker: WorkerId) -> None:
        while True:
            await self._clock.sleep(self._lease_s / 3)
            try:
                await self._queue.heartbeat(worker)
            except LeaseLostError:
                log.warning("worker.lost_its_lease", extra={"worker": worker})
                return

    def _settle(self, task_id: TaskId) -> None:
        # A quick worker may end a task before `_give` knows its id.
        if self._open.pop(task_id, None) is None:
            self._ended_early.add(task_id)
        self._look_whether_finished()

    def _look_whether_finished(self) -> None:
        if self._all_given and not self._open:
            self._finished.set()


def error_in(task: Task) -> dict[str, Any]:
    """Return the error of a dead task as in an answer document: code and message."""
    try:
        told = msgspec.json.decode(task.error or "", type=dict[str, Any])
    except msgspec.MsgspecError:
        return {"code": "work_queue", "message": task.error or "the task was given up"}
    return told
