"""Runs coroutines as tasks in the background.

The event loop holds its tasks weakly: whoever starts one has to hold it until it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def spawn(tasks: set[asyncio.Task[Any]], work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run a coroutine as a task, which `tasks` holds until it ends; return the task."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
