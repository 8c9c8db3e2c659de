"""Implements the rules of work queues as a table of tasks, workers and leases; time is passed in.

    ready ──dequeue──▶ leased ──complete──▶ completed
      ▲  ▲               │ │ └──give up───▶ dead
      │  └──return───────┘ │
      └──due── delayed ◀───retry

A task is leased to one worker at a time, as long as that worker sends heartbeats. Within a queue the higher priority
goes first, and within a priority the task that was enqueued first, also when it was returned.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from typing import Literal, NewType, get_args

import msgspec

from runtime.errors import LeaseLostError, QueueFullError
from runtime.pipeline.run_terms import Priority

TaskId = NewType("TaskId", str)
LeaseId = NewType("LeaseId", str)
WorkerId = NewType("WorkerId", str)
TaskState = Literal["ready", "leased", "delayed", "completed", "dead"]
Signal = Literal["dequeue", "complete", "give_up", "return", "retry", "due"]

TRANSITIONS: dict[tuple[TaskState, Signal], TaskState] = {
    ("ready", "dequeue"): "leased",
    ("leased", "complete"): "completed",
    ("leased", "give_up"): "dead",
    ("leased", "return"): "ready",
    ("leased", "retry"): "delayed",
    ("delayed", "due"): "ready",
}
PENDING: tuple[TaskState, ...] = ("ready", "leased", "delayed")

MAX_PENDING_PER_QUEUE = 100_000
KEPT_DEAD_TASKS = 10_000
MAX_LOST_LEASES = 3
FIRST_RETRY_MS = 1_000
MAX_RETRY_DELAY_MS = 300_000

RANKS: dict[Priority, int] = {priority: rank for rank, priority in enumerate(get_args(Priority))}


class Task(msgspec.Struct, frozen=True):
    """Describes a piece of work; `failures` and `lost` count its problems so far, `error` is the latest.

    Of two tasks with the same `dedup_key` in a queue, the second is not accepted until the first is finished.
    """

    id: TaskId
    queue: str
    payload: bytes
    priority: Priority
    max_retries: int
    seq: int
    failures: int = 0
    lost: int = 0
    error: str | None = None
    dedup_key: str | None = None


class Lease(msgspec.Struct, frozen=True):
    """Assigns a task to a worker, which completes or fails it under the lease's id."""

    id: LeaseId
    worker: WorkerId
    task: Task


class QueueStats(msgspec.Struct, frozen=True):
    """Counts the tasks of one queue by state, and the ready ones by priority."""

    ready: int
    leased: int
    delayed: int
    completed: int
    dead: int
    ready_by_priority: dict[Priority, int]


class _Worker(msgspec.Struct):
    queues: tuple[str, ...]
    lease_ms: int
    expires_ms: int


def retry_delay_ms(failures: int) -> int:
    """Return how long a task waits after so many failures: 1 s, 2 s, 4 s and so on, up to five minutes."""
    return min(FIRST_RETRY_MS << min(failures - 1, 30), MAX_RETRY_DELAY_MS)


def queue_full(queue: str, pending: int) -> QueueFullError:
    """Return the error for one task too many."""
    return QueueFullError(f"queue '{queue}' holds {pending} tasks already", queue=queue, limit=pending)


def lease_is_over(lease_id: LeaseId) -> LeaseLostError:
    """Return the error for a worker that no longer holds its task."""
    return LeaseLostError(f"lease {lease_id} is over: the task is not this worker's any more", lease=lease_id)


def worker_is_unknown(worker: WorkerId) -> LeaseLostError:
    """Return the error for a worker whose lease is over."""
    return LeaseLostError(f"worker {worker} is not known, or was not heard of in time", worker=worker)


class WorkTable:
    """Holds tasks, workers and leases. Every call first applies the effects of the time that has passed."""

    def __init__(self) -> None:
        self._tasks: dict[TaskId, Task] = {}
        self._ready: dict[str, list[tuple[int, int, TaskId]]] = {}
        self._delayed: list[tuple[int, int, TaskId]] = []
        self._workers: dict[WorkerId, _Worker] = {}
        self._leases: dict[LeaseId, Lease] = {}
        self._counts: Counter[tuple[str, TaskState]] = Counter()
        self._by_key: dict[tuple[str, str], TaskId] = {}
        self._numbers = 0
        self.dead: deque[Task] = deque(maxlen=KEPT_DEAD_TASKS)

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        priority: Priority,
        max_retries: int,
        dedup_key: str | None = None,
        _now_ms: int = 0,
    ) -> TaskId:
        """Add a task and return its id, or the id of a pending task with that key. Raises QueueFullError."""
        if dedup_key is not None and (queue, dedup_key) in self._by_key:
            return self._by_key[queue, dedup_key]
        pending = sum(self._counts[queue, state] for state in PENDING)
        if pending >= MAX_PENDING_PER_QUEUE:
            raise queue_full(queue, pending)
        seq = self._next_number()
        task = Task(TaskId(f"t-{seq}"), queue, payload, priority, max_retries, seq, dedup_key=dedup_key)
        if dedup_key is not None:
            self._by_key[queue, dedup_key] = task.id
        self._counts[queue, "ready"] += 1
        self._make_ready(task)
        return task.id

    def register(self, worker: WorkerId, queues: Iterable[str], lease_ms: int, now_ms: int) -> None:
        """Register a worker; one that is known already starts anew, and its tasks return to their queues."""
        self.deregister(worker, now_ms)
        self._workers[worker] = _Worker(tuple(queues), lease_ms, now_ms + lease_ms)

    def deregister(self, worker: WorkerId, now_ms: int) -> None:
        """Remove a worker that leaves in good order; its tasks return to their queues at once."""
        self.advance(now_ms)
        self._workers.pop(worker, None)
        for lease in self._leases_of(worker):
            self._return(lease)

    def heartbeat(self, worker: WorkerId, now_ms: int) -> None:
        """Renew a worker's lease. Raises LeaseLostError when it is over already."""
        self.advance(now_ms)
        known = self._known(worker)
        known.expires_ms = now_ms + known.lease_ms

    def dequeue(self, worker: WorkerId, now_ms: int) -> Lease | None:
        """Lease the next task of the worker's queues; this is a heartbeat, too. Raises LeaseLostError."""
        self.heartbeat(worker, now_ms)
        heads = [self._ready[queue][0] + (queue,) for queue in self._known(worker).queues if self._ready.get(queue)]
        if not heads:
            return None
        _, _, task_id, queue = min(heads)
        heapq.heappop(self._ready[queue])
        task = self._tasks[task_id]
        self._move(task, "ready", "dequeue")
        lease = Lease(LeaseId(f"l-{self._next_number()}"), worker, task)
        self._leases[lease.id] = lease
        return lease

    def complete(self, lease_id: LeaseId, now_ms: int) -> None:
        """Mark a task as done. Raises LeaseLostError when another worker has it, or it is finished."""
        task = self._end(lease_id, now_ms)
        self._move(task, "leased", "complete")
        self._drop(task)

    def fail(self, lease_id: LeaseId, retry: bool, error: str, now_ms: int) -> None:
        """Mark a task as failed: it waits for its next try, or is dead after the last. Raises LeaseLostError."""
        task = self._end(lease_id, now_ms)
        task = msgspec.structs.replace(task, failures=task.failures + 1, error=error)
        if not retry or task.failures > task.max_retries:
            self._give_up(task)
            return
        self._move(task, "leased", "retry")
        self._tasks[task.id] = task
        heapq.heappush(self._delayed, (now_ms + retry_delay_ms(task.failures), task.seq, task.id))

    def advance(self, now_ms: int) -> None:
        """Make due retries ready, and return the tasks of workers whose lease is over."""
        while self._delayed and self._delayed[0][0] <= now_ms:
            task = self._tasks[heapq.heappop(self._delayed)[2]]
            self._move(task, "delayed", "due")
            self._make_ready(task)
        for worker in [name for name, known in self._workers.items() if known.expires_ms <= now_ms]:
            del self._workers[worker]
            for lease in self._leases_of(worker):
                self._lose(lease)

    def may_have_changed(self, worker: WorkerId, now_ms: int) -> bool:
        """Return whether `dequeue` may return a task or raise."""
        self.advance(now_ms)
        return any(self._ready.get(queue) for queue in self._known(worker).queues)

    def next_change_ms(self) -> int | None:
        """Return when time alone will next return a task to its queue; None when it will not."""
        instants = [known.expires_ms for known in self._workers.values()]
        return min(instants + [due_ms for due_ms, _, _ in self._delayed[:1]], default=None)

    def half_lease_ms(self, worker: WorkerId) -> int:
        """Return how often a worker should send a heartbeat. Raises LeaseLostError."""
        return self._known(worker).lease_ms // 2

    def stats(self, queue: str) -> QueueStats:
        """Return the numbers of one queue; zeros for an unknown one."""
        by_rank = Counter(rank for rank, _, _ in self._ready.get(queue, ()))
        by_priority = {priority: by_rank[rank] for priority, rank in RANKS.items()}
        counts = {state: self._counts[queue, state] for state in get_args(TaskState)}
        return QueueStats(**counts, ready_by_priority=by_priority)

    def queues(self) -> list[str]:
        """Return every queue that ever had a task, sorted."""
        return sorted(self._ready)

    def _end(self, lease_id: LeaseId, now_ms: int) -> Task:
        self.advance(now_ms)
        lease = self._leases.pop(lease_id, None)
        if lease is None:
            raise lease_is_over(lease_id)
        return lease.task

    def _lose(self, lease: Lease) -> None:
        task = msgspec.structs.replace(lease.task, lost=lease.task.lost + 1, error=f"worker {lease.worker} was lost")
        if task.lost >= MAX_LOST_LEASES:
            del self._leases[lease.id]
            self._give_up(task)
        else:
            self._return(msgspec.structs.replace(lease, task=task))

    def _return(self, lease: Lease) -> None:
        del self._leases[lease.id]
        self._move(lease.task, "leased", "return")
        self._make_ready(lease.task)

    def _give_up(self, task: Task) -> None:
        self._move(task, "leased", "give_up")
        self._drop(task)
        self.dead.append(task)

    def _drop(self, task: Task) -> None:
        del self._tasks[task.id]
        if task.dedup_key is not None:
            del self._by_key[task.queue, task.dedup_key]

    def _make_ready(self, task: Task) -> None:
        self._tasks[task.id] = task
        heapq.heappush(self._ready.setdefault(task.queue, []), (RANKS[task.priority], task.seq, task.id))

    def _move(self, task: Task, state: TaskState, signal: Signal) -> None:
        self._counts[task.queue, state] -= 1
        self._counts[task.queue, TRANSITIONS[state, signal]] += 1

    def _known(self, worker: WorkerId) -> _Worker:
        if worker not in self._workers:
            raise worker_is_unknown(worker)
        return self._workers[worker]

    def _leases_of(self, worker: WorkerId) -> list[Lease]:
        return [lease for lease in self._leases.values() if lease.worker == worker]

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers
