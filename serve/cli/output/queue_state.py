"""Reports the state of the store's work queues, for `jeeves status`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from runtime.queues.work_table import QueueStats
from runtime.settings import Settings
from runtime.store.options import store_options
from runtime.store.queue_counts import queue_counts


def queue_state(settings: Settings) -> dict[str, QueueStats]:
    """Count the tasks of every queue by state, without creating a database. Raises StateStorageError."""
    return asyncio.run(queue_counts(store_options(settings)))


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
