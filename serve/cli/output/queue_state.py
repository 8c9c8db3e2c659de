"""Reports the state of the store's work queues, for `jeeves status`."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any

import msgspec

from runtime.primitives.clock import SystemClock
from runtime.queues.work_table import QueueStats
from runtime.settings import Settings
from runtime.store.opening import has_database, open_store
from runtime.store.options import store_options
from runtime.store.sql_work_queue import WORK_QUEUES


def queue_state(settings: Settings) -> dict[str, QueueStats]:
    """Count the tasks of every queue by state, without creating a database. Raises StateStorageError."""
    options = store_options(settings)
    if not has_database(options, WORK_QUEUES.database):
        return {}
    with closing(open_store(options, SystemClock())) as stores:
        queue = stores.part(WORK_QUEUES)

        async def counted() -> dict[str, QueueStats]:
            return {name: await queue.queue_stats(name) for name in await queue.list_queues()}

        return asyncio.run(counted())


def as_document(state: dict[str, QueueStats]) -> dict[str, Any]:
    """Return the counts in the form of `jeeves status --json`."""
    return {name: msgspec.to_builtins(stats) for name, stats in state.items()}


def told_of_queues(state: dict[str, QueueStats]) -> str:
    """Return a line for each queue with open or failed tasks, and one for all the others."""
    lines = []
    for name, stats in state.items():
        if stats.ready or stats.leased or stats.delayed or stats.dead:
            lines.append(
                f"queue {name}: {stats.ready} ready, {stats.leased} under way, {stats.delayed} to be tried again, "
                f"{stats.completed} done, {stats.dead} given up\n"
            )
    if finished := len(state) - len(lines):
        lines.append(f"{finished} {'queue' if finished == 1 else 'queues'} with all tasks done\n")
    return "".join(lines)
