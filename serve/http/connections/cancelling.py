"""Cancels work until it has ended."""

from __future__ import annotations

import asyncio
from typing import Any

CANCELLED_AGAIN_S = 0.5


async def cancel_until_done(work: asyncio.Future[Any], within_s: float | None = None) -> None:
    """Cancel work, again as long as it goes on, and wait for its end; at most `within_s`.

    What waits in it may swallow a cancellation that comes as its answer does, and then wait on. A cancellation of the
    caller is raised at the end: what the work holds is given back by then.
    """
    loop = asyncio.get_running_loop()
    now_s = began_s = cancelled_s = loop.time()
    is_cancelled = False
    work.cancel()
    while not work.done() and (within_s is None or now_s < began_s + within_s):
        if now_s >= cancelled_s + CANCELLED_AGAIN_S:
            work.cancel()
            cancelled_s = now_s
        until_s = cancelled_s + CANCELLED_AGAIN_S if within_s is None else began_s + within_s
        try:
            await asyncio.wait({work}, timeout=min(CANCELLED_AGAIN_S, until_s - now_s))
        except asyncio.CancelledError:
            # A cancel scope cancels again in every turn of the event loop.
            is_cancelled = True
        now_s = loop.time()
    if is_cancelled:
        raise asyncio.CancelledError


def check_not_cancelled() -> None:
    """Raise CancelledError if this task was cancelled, and what it awaited then has swallowed that."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
