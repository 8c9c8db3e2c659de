"""Lets actors that Ray restarts after a crash wait for services that are unavailable.

When an actor's constructor raises, Ray does not start that actor again. At the first start that is right, and the error
reaches the caller that starts the system. Later there are runs to continue, so a full disk or a server that is down is
waited for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

import ray

from runtime.errors import PASSING_PROBLEMS, StateStorageError

RETRY_S = 0.5

log = logging.getLogger(__name__)

Result = TypeVar("Result")


def was_restarted() -> bool:
    """Return True in an actor whose former process died."""
    return ray.is_initialized() and bool(ray.get_runtime_context().was_current_actor_reconstructed)


def retry_while_unavailable(attempt: Callable[[], Result], follows: bool) -> Result:
    """Return the result of `attempt`; if it `follows` a dead process, retry while the store's problem may pass.

    Raises what `attempt` raises. It blocks: for constructors, where nothing else runs yet.
    """
    while True:
        try:
            return attempt()
        except StateStorageError as error:
            if not follows or error.values.get("problem") not in PASSING_PROBLEMS:
                raise
            log.warning("follower.waits_for_store", extra={"reason": error.message})
        time.sleep(RETRY_S)
