"""Ends what a replica still answers once Ray Serve has begun to stop it.

Serve routes no more calls to it then, waits until those under way have ended, and cuts them off when their time is
over. It has no hook for the beginning: `__del__` is called when they have ended. So its own object is looked at.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from ray import serve as ray_serve
from ray._private.worker import global_worker

from serve.http.connections.listening import DRAIN_S, SETTLE_S

LOOKED_EVERY_S = 0.5

log = logging.getLogger(__name__)


def stopping_seen() -> Callable[[], bool] | None:
    """Return what tells whether Ray Serve has begun to stop the replica of this process; None if it cannot be seen."""
    replica: Any = getattr(global_worker.actors.get(global_worker.actor_id), "_replica_impl", None)
    if not hasattr(replica, "_shutting_down"):
        log.warning("replica.stop_not_seen", extra={"replica": type(replica).__name__})
        return None
    return lambda: bool(replica._shutting_down)


def drain_s_within(grace_s: float) -> float:
    """Return how long calls may take to end by themselves: as long as at `jeeves serve`, if Serve's grace has room."""
    return max(0.0, min(float(DRAIN_S), grace_s - SETTLE_S))


def grace_s() -> float:
    """Return how long Ray Serve waits for the calls of this replica (`graceful_shutdown_timeout_s`)."""
    return float(ray_serve.get_replica_context()._deployment_config.graceful_shutdown_timeout_s)


async def close_once_stopping(is_stopping: Callable[[], bool], closing: asyncio.Event, drain_s: float) -> None:
    """Set `closing` when `drain_s` have passed since the replica began to stop."""
    while True:
        if is_stopping():
            break
        await asyncio.sleep(LOOKED_EVERY_S)
    log.info("replica.stopping", extra={"drain_s": drain_s})
    await asyncio.sleep(drain_s)
    closing.set()
