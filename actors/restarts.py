"""A process that Ray starts in the place of one that died: what it needs may be away just now, and comes back.

What an actor's constructor raises is the end of that actor: Ray starts it no more. At the first start that is right,
and whoever starts the system is told. Later there are runs to go on with, so a disk that is full or a server that is
down is waited for.
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
    """True in an actor whose former process died."""
    return ray.is_initialized() and bool(ray.get_runtime_context().was_current_actor_reconstructed)


def retry_while_unavailable(attempt: Callable[[], Result], follows: bool) -> Result:
    """What `attempt` gives; one who `follows` tries for as long as the store has a trouble that passes.

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
