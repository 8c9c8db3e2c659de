"""Implements the rules of `runtime.queues.work_table` over a database that processes share.

Each call is one transaction, so two workers never hold one task; calls of workers first apply expired leases and due
retries. Times are milliseconds of the wall clock, because workers on other machines read them, too; `due_ms` is when a
task was enqueued, when its next try is due, or when it became a dead letter. Pending tasks are counted in a row per
queue: enqueueing costs the same however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from runtime.database.database import Database, Schema, Transaction
from runtime.pipeline.run_terms import Priority
from runtime.queues import work_table
from runtime.queues.work_table import (
    KEPT_DEAD_TASKS,
    MAX_LOST_LEASES,
    RANKS,
    Lease,
    LeaseId,
    QueueStats,
    Task,
    TaskId,
    WorkerId,
    lease_is_over,
    queue_full,
    retry_delay_ms,
    worker_is_unknown,
)

_PRIORITIES: dict[int, Priority] = {rank: priority for priority, rank in RANKS.items()}
_TASK = "seq, queue, payload, priority_rank, max_retries, failures, lost, error, dedup_key"
_NUMBER = (
    "INSERT INTO queue_numbers (one, number) VALUES (1, 1)"
    " ON CONFLICT (one) DO UPDATE SET number = queue_numbers.number + 1 RETURNING number"
)
_IS_TAKEN_IN = (
    "INSERT INTO queues (queue, pending, completed, dead) VALUES (?, 1, 0, 0)"
    " ON CONFLICT (queue) DO UPDATE SET pending = queues.pending + 1"
)
_ENQUEUE = (
    "INSERT INTO tasks (seq, queue, payload, priority_rank, max_retries, dedup_key, state, failures, lost, due_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, 'ready', 0, 0, ?)"
)
_BEST_OF = f"SELECT {_TASK} FROM tasks WHERE queue = ? AND state = 'ready' ORDER BY priority_rank, seq LIMIT 1"
_MAY_HAVE_CHANGED = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM tasks JOIN worker_queues ON worker_queues.queue = tasks.queue"
    " WHERE tasks.state = 'ready' AND worker_queues.worker = ?)"
    " OR EXISTS (SELECT 1 FROM tasks WHERE state = 'delayed' AND due_ms <= ?)"
    " OR EXISTS (SELECT 1 FROM workers WHERE expires_ms <= ?)"
    " OR NOT EXISTS (SELECT 1 FROM workers WHERE worker = ?)"
)


class OldTasks(NamedTuple):
    """Counts old dead letters, and tasks of abandoned queues."""

    dead: int
    abandoned: int


class SqlWorkTable:
    """Implements `runtime.queues.work_table.WorkTable` on a database: the same calls, the same errors.

    Times are kept in that of the database's clock, and taken and told in that of the caller's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        SCHEMA.apply(database)

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        priority: Priority,
        max_retries: int,
        dedup_key: str | None = None,
        now_ms: int = 0,
    ) -> TaskId:
        """Enqueue a task and return its id, or that of the pending task with this key. Raises QueueFullError."""
        now_ms = self._there_ms(now_ms)
        same = "SELECT seq FROM tasks WHERE queue = ? AND dedup_key = ? AND state <> 'dead'"
        with self._database.transaction(f"take a task into queue '{queue}'", queue=queue) as changes:
            for (seq,) in changes.rows(same, (queue, dedup_key)) if dedup_key is not None else ():
                return TaskId(f"t-{seq}")
            for (pending,) in changes.rows("SELECT pending FROM queues WHERE queue = ?", (queue,)):
                if pending >= work_table.MAX_PENDING_PER_QUEUE:
                    raise queue_full(queue, pending)
            seq = _number(changes)
            changes.execute(_ENQUEUE, (seq, queue, payload, RANKS[priority], max_retries, dedup_key, now_ms))
            changes.execute(_IS_TAKEN_IN, (queue,))
        return TaskId(f"t-{seq}")

    def register(self, worker: WorkerId, queues: Iterable[str], lease_ms: int, now_ms: int) -> None:
        """Register a worker; if it is registered already, its leases end and its tasks are ready again."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"know worker {worker}") as changes:
            _advance(changes, now_ms)
            _forget_worker(changes, worker)
            changes.execute("INSERT INTO workers VALUES (?, ?, ?)", (worker, lease_ms, now_ms + lease_ms))
            changes.execute_all(
                "INSERT INTO worker_queues VALUES (?, ?)", [(worker, queue) for queue in dict.fromkeys(queues)]
            )

    def deregister(self, worker: WorkerId, now_ms: int) -> None:
        """Remove a worker that shuts down in order; its tasks are ready again at once."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"let worker {worker} go") as changes:
            _advance(changes, now_ms)
            _forget_worker(changes, worker)

    def heartbeat(self, worker: WorkerId, now_ms: int) -> None:
        """Renew the lease of a worker. Raises LeaseLostError if it has expired."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"hear of worker {worker}") as changes:
            _advance(changes, now_ms)
            is_known = _renew_lease(changes, worker, now_ms)
        if not is_known:
            raise worker_is_unknown(worker)

    def dequeue(self, worker: WorkerId, now_ms: int) -> Lease | None:
        """Lease the next task of the worker's queues to it; the call counts as a heartbeat. Raises LeaseLostError."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"give worker {worker} a task") as changes:
            _advance(changes, now_ms)
            is_known = _renew_lease(changes, worker, now_ms)
            lease = _lease_best(changes, worker) if is_known else None
        if not is_known:
            raise worker_is_unknown(worker)
        return lease

    def complete(self, lease_id: LeaseId, now_ms: int) -> None:
        """Complete a task. Raises LeaseLostError if the lease is over: another worker has the task, or it has ended."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"take note of the end of {lease_id}") as changes:
            _advance(changes, now_ms)
            task = _leased(changes, lease_id)
            if task is not None:
                changes.execute("DELETE FROM tasks WHERE seq = ?", (task.seq,))
                count = "UPDATE queues SET pending = pending - 1, completed = completed + 1 WHERE queue = ?"
                changes.execute(count, (task.queue,))
        if task is None:
            raise lease_is_over(lease_id)

    def fail(self, lease_id: LeaseId, retry: bool, error: str, now_ms: int) -> None:
        """Record a failure: the task waits for its retry, or is dead after the last. Raises LeaseLostError."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction(f"take note of the failure of {lease_id}") as changes:
            _advance(changes, now_ms)
            task = _leased(changes, lease_id)
            if task is not None:
                failures = task.failures + 1
                due_ms = now_ms + retry_delay_ms(failures)
                changes.execute(
                    "UPDATE tasks SET state = 'delayed', lease = NULL, worker = NULL, failures = ?, error = ?,"
                    " due_ms = ? WHERE seq = ?",
                    (failures, _text(error), due_ms, task.seq),
                )
                if not retry or failures > task.max_retries:
                    _make_dead_letter(changes, task.seq, task.queue, now_ms)
        if task is None:
            raise lease_is_over(lease_id)

    def may_have_changed(self, worker: WorkerId, now_ms: int) -> bool:
        """Return whether `dequeue` may return a task or raise. It writes nothing, so that it can be polled."""
        now_ms = self._there_ms(now_ms)
        with self._database.read() as queries:
            return bool(queries.rows(_MAY_HAVE_CHANGED, (worker, now_ms, now_ms, worker)))

    def advance(self, now_ms: int) -> None:
        """Make due retries ready, and the tasks of workers whose lease has expired."""
        now_ms = self._there_ms(now_ms)
        with self._database.transaction("bring its queues up to date") as changes:
            _advance(changes, now_ms)

    def next_change_ms(self) -> int | None:
        """Return when the next lease expires or the next retry is due; None if there are none."""
        instants = (
            "SELECT min(at_ms) FROM (SELECT min(expires_ms) AS at_ms FROM workers UNION ALL"
            " SELECT min(due_ms) AS at_ms FROM tasks WHERE state = 'delayed') AS instants"
        )
        with self._database.read() as queries:
            at_ms: int | None = queries.rows(instants)[0][0]
        return None if at_ms is None else at_ms - self._database.clock_ahead_ms()

    def half_lease_ms(self, worker: WorkerId) -> int:
        """Return the interval at which a worker should send heartbeats. Raises LeaseLostError."""
        with self._database.read() as queries:
            rows = queries.rows("SELECT lease_ms FROM workers WHERE worker = ?", (worker,))
        if not rows:
            raise worker_is_unknown(worker)
        return int(rows[0][0]) // 2

    def stats(self, queue: str) -> QueueStats:
        """Return the counts of one queue; zeros for an unknown one."""
        counted = "SELECT state, priority_rank, count(*) FROM tasks WHERE queue = ? GROUP BY state, priority_rank"
        with self._database.read() as queries:
            rows = queries.rows(counted, (queue,))
            ended = queries.rows("SELECT completed, dead FROM queues WHERE queue = ?", (queue,))
        states = {state: sum(n for of, _, n in rows if of == state) for state in ("ready", "leased", "delayed")}
        ready = {rank: n for state, rank, n in rows if state == "ready"}
        completed, dead = ended[0] if ended else (0, 0)
        by_priority = {priority: ready.get(rank, 0) for priority, rank in RANKS.items()}
        return QueueStats(**states, completed=completed, dead=dead, ready_by_priority=by_priority)

    def old(self, before_ms: int, prefix: str, now_ms: int) -> OldTasks:
        """Count the tasks that `drop_old` would drop."""
        before_ms, now_ms = self._there_ms(before_ms), self._there_ms(now_ms)
        with self._database.read() as queries:
            return OldTasks(*(_count(queries, which) for which in _old(before_ms, prefix, now_ms)))

    def drop_old(self, before_ms: int, prefix: str, now_ms: int) -> OldTasks:
        """Drop dead letters from before `before_ms`, and all tasks of abandoned queues.

        Abandoned queues have names that begin with `prefix`, no live worker, and no task newer than that.
        """
        before_ms, now_ms = self._there_ms(before_ms), self._there_ms(now_ms)
        with self._database.transaction("drop old tasks") as changes:
            found = [changes.rows(f"SELECT seq, queue, state FROM tasks WHERE {sql}", values)
                     for sql, values in _old(before_ms, prefix, now_ms)]  # fmt: skip
            for seq, queue, state in (row for rows in found for row in rows):
                changes.execute("DELETE FROM tasks WHERE seq = ?", (seq,))
                if state != "dead":
                    changes.execute("UPDATE queues SET pending = pending - 1 WHERE queue = ?", (queue,))
            changes.execute(
                "DELETE FROM queues WHERE substr(queue, 1, ?) = ?"
                " AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.queue = queues.queue)"
                " AND NOT EXISTS (SELECT 1 FROM worker_queues WHERE worker_queues.queue = queues.queue)",
                (len(prefix), prefix),
            )
        return OldTasks(*(len(rows) for rows in found))

    def queues(self) -> list[str]:
        """Return every queue that ever had a task and was not dropped, sorted."""
        with self._database.read() as queries:
            return sorted(row[0] for row in queries.rows("SELECT queue FROM queues"))

    @property
    def dead(self) -> list[Task]:
        """The dead letters, oldest first."""
        with self._database.read() as queries:
            return [_task(row) for row in queries.rows(f"SELECT {_TASK} FROM tasks WHERE state = 'dead' ORDER BY died")]

    def _there_ms(self, at_ms: int) -> int:
        """Return an instant of this machine's clock in the time of the database."""
        return at_ms + self._database.clock_ahead_ms()


def _old(before_ms: int, prefix: str, now_ms: int) -> tuple[tuple[str, tuple[object, ...]], ...]:
    """Return the SQL conditions, with their values, of old dead letters and of tasks of abandoned queues."""
    abandoned = (
        "state <> 'dead' AND substr(queue, 1, ?) = ?"
        " AND NOT EXISTS (SELECT 1 FROM worker_queues JOIN workers ON workers.worker = worker_queues.worker"
        " WHERE worker_queues.queue = tasks.queue AND workers.expires_ms > ?)"
        " AND NOT EXISTS (SELECT 1 FROM tasks AS others WHERE others.queue = tasks.queue AND others.due_ms >= ?)"
    )
    return ("state = 'dead' AND due_ms < ?", (before_ms,)), (abandoned, (len(prefix), prefix, now_ms, before_ms))


def _count(queries: Transaction, which: tuple[str, tuple[object, ...]]) -> int:
    return int(queries.rows(f"SELECT count(*) FROM tasks WHERE {which[0]}", which[1])[0][0])


def _advance(changes: Transaction, now_ms: int) -> None:
    changes.execute("UPDATE tasks SET state = 'ready' WHERE state = 'delayed' AND due_ms <= ?", (now_ms,))
    for (worker,) in changes.rows("SELECT worker FROM workers WHERE expires_ms <= ? ORDER BY worker", (now_ms,)):
        lost = "UPDATE tasks SET lost = lost + 1, error = ? WHERE state = 'leased' AND worker = ?"
        changes.execute(lost, (f"worker {worker} was lost", worker))
        poison = "SELECT seq, queue FROM tasks WHERE state = 'leased' AND worker = ? AND lost >= ? ORDER BY seq"
        for seq, queue in changes.rows(poison, (worker, MAX_LOST_LEASES)):
            _make_dead_letter(changes, seq, queue, now_ms)
        _forget_worker(changes, worker)


def _forget_worker(changes: Transaction, worker: str) -> None:
    changes.execute(
        "UPDATE tasks SET state = 'ready', lease = NULL, worker = NULL WHERE state = 'leased' AND worker = ?", (worker,)
    )
    changes.execute("DELETE FROM worker_queues WHERE worker = ?", (worker,))
    changes.execute("DELETE FROM workers WHERE worker = ?", (worker,))


def _renew_lease(changes: Transaction, worker: str, now_ms: int) -> bool:
    return changes.execute("UPDATE workers SET expires_ms = lease_ms + ? WHERE worker = ?", (now_ms, worker)) == 1


def _lease_best(changes: Transaction, worker: WorkerId) -> Lease | None:
    queues = changes.rows("SELECT queue FROM worker_queues WHERE worker = ?", (worker,))
    heads = [row for queue in queues for row in changes.rows(_BEST_OF, queue)]
    if not heads:
        return None
    task = min((_task(row) for row in heads), key=lambda head: (RANKS[head.priority], head.seq))
    lease = Lease(LeaseId(f"l-{_number(changes)}"), worker, task)
    changes.execute(
        "UPDATE tasks SET state = 'leased', lease = ?, worker = ? WHERE seq = ?", (lease.id, worker, task.seq)
    )
    return lease


def _leased(changes: Transaction, lease_id: LeaseId) -> Task | None:
    rows = changes.rows(f"SELECT {_TASK} FROM tasks WHERE state = 'leased' AND lease = ?", (lease_id,))
    return _task(rows[0]) if rows else None


def _make_dead_letter(changes: Transaction, seq: int, queue: str, now_ms: int) -> None:
    changes.execute(
        "UPDATE tasks SET state = 'dead', lease = NULL, worker = NULL, due_ms = ?,"
        " died = (SELECT coalesce(max(died), 0) + 1 FROM tasks WHERE state = 'dead') WHERE seq = ?",
        (now_ms, seq),
    )
    changes.execute("UPDATE queues SET pending = pending - 1, dead = dead + 1 WHERE queue = ?", (queue,))
    newest = "SELECT died FROM tasks WHERE state = 'dead' ORDER BY died DESC LIMIT 1 OFFSET ?"
    for (last_dropped,) in changes.rows(newest, (KEPT_DEAD_TASKS,)):
        changes.execute("DELETE FROM tasks WHERE state = 'dead' AND died <= ?", (last_dropped,))


def _number(changes: Transaction) -> int:
    return int(changes.rows(_NUMBER)[0][0])


def _task(row: tuple[Any, ...]) -> Task:
    seq, queue, payload, rank, max_retries, failures, lost, error, dedup_key = row
    task_id = TaskId(f"t-{seq}")
    return Task(task_id, queue, payload, _PRIORITIES[rank], max_retries, seq, failures, lost, error, dedup_key)


def _text(value: str) -> str:
    return value.replace("\x00", "\N{REPLACEMENT CHARACTER}")


SCHEMA = Schema(
    "work_queue",
    (
        (
            "CREATE TABLE queue_numbers (one BIGINT PRIMARY KEY, number BIGINT NOT NULL)",
            "CREATE TABLE queues (queue TEXT PRIMARY KEY, pending BIGINT NOT NULL, completed BIGINT NOT NULL,"
            " dead BIGINT NOT NULL)",
            "CREATE TABLE workers (worker TEXT PRIMARY KEY, lease_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL)",
            "CREATE TABLE worker_queues (worker TEXT NOT NULL, queue TEXT NOT NULL, PRIMARY KEY (worker, queue))",
            "CREATE TABLE tasks (seq BIGINT PRIMARY KEY, queue TEXT NOT NULL, payload BYTEA NOT NULL,"
            " priority_rank BIGINT NOT NULL, max_retries BIGINT NOT NULL, dedup_key TEXT, state TEXT NOT NULL,"
            " failures BIGINT NOT NULL, lost BIGINT NOT NULL, error TEXT, due_ms BIGINT NOT NULL, lease TEXT,"
            " worker TEXT, died BIGINT)",
            "CREATE INDEX tasks_ready ON tasks (queue, priority_rank, seq) WHERE state = 'ready'",
            "CREATE INDEX tasks_delayed ON tasks (due_ms) WHERE state = 'delayed'",
            "CREATE INDEX tasks_by_lease ON tasks (lease) WHERE state = 'leased'",
            "CREATE INDEX tasks_of_worker ON tasks (worker) WHERE state = 'leased'",
            "CREATE INDEX tasks_dead ON tasks (died) WHERE state = 'dead'",
            "CREATE INDEX tasks_by_key ON tasks (queue, dedup_key) WHERE dedup_key IS NOT NULL",
        ),
    ),
)
