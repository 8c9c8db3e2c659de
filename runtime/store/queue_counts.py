"""Counts the tasks of the store's work queues, for `jeeves status` and metrics."""

from __future__ import annotations

from contextlib import closing

from runtime.primitives.clock import SystemClock
from runtime.queues.work_table import QueueStats
from runtime.store.opening import has_database, open_store
from runtime.store.options import StoreOptions
from runtime.store.sql_work_queue import WORK_QUEUES


async def queue_counts(options: StoreOptions) -> dict[str, QueueStats]:
    """Count the tasks of every queue by state, without creating a database. Raises StateStorageError."""
    if not has_database(options, WORK_QUEUES.database):
        return {}
    with closing(open_store(options, SystemClock())) as stores:
        queue = stores.part(WORK_QUEUES)
        return {name: await queue.queue_stats(name) for name in await queue.list_queues()}
