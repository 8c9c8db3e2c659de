"""Keeps work queues in a database: any process may enqueue tasks, and any may dequeue them.

Each call is one short transaction, made on the caller's event loop. A waiting worker polls every `POLL_S`, because
another process may have enqueued a task; polling writes nothing.
"""

from __future__ import annotations

from runtime.database.database import Database
from runtime.database.store_part import Counted, Dropped, StorePart, SweepTask
from runtime.primitives.clock import Clock
from runtime.queues.work_queue import TableQueue
from runtime.store.sql_work_table import SCHEMA, OldTasks, SqlWorkTable

POLL_S = 0.2


class SqlWorkQueue(TableQueue):
    """Serves the work queues that all processes with this database share."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._tasks = SqlWorkTable(database)
        super().__init__(self._tasks, clock, POLL_S)

    def old_tasks(self, before_ms: int, prefix: str, drop: bool) -> OldTasks:
        """Count old tasks, or `drop` them: see `SqlWorkTable.old` and `drop_old`."""
        act = self._tasks.drop_old if drop else self._tasks.old
        return act(before_ms, prefix, self._clock.now_ms())


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
