"""Calls actors for the doors: retries while an actor is being replaced, and unwraps our errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    ObjectStoreFullError,
    OutOfDiskError,
    RayActorError,
    RayTaskError,
)

from runtime import errors
from runtime.errors import ClusterError, JeevesError

RESTART_POLL_S = 0.2
# A supervisor whose store is away comes back when the store does: whoever watches a run outlasts minutes of that.
AWAY_S = 180.0

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
# Ray carries what is larger than 100 KB through its object store, and raises where that and the disk have no room.
STORE_FULL = (ObjectStoreFullError, OutOfDiskError)


async def wait_until_answering(actor: Any) -> None:
    """Return when an actor answers; one whose process died gets time to come back."""
    await call_actor(actor.ping.remote)


async def call_actor(call: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of an actor call; our errors are raised as themselves, other trouble as ClusterError.

    That is the death of an actor, and an object store without room.

    A call whose process died meanwhile may or may not have been carried out. It is made again, so it has to be
    idempotent.
    """
    gives_up_s = asyncio.get_running_loop().time() + AWAY_S
    while True:
        try:
            return await call()
        except JeevesError:
            raise
        except RayTaskError as error:
            cause = error.cause
            if isinstance(cause, JeevesError):
                raise cause from error
            if is_store_full(error):
                raise store_full_error() from error
            raise
        except STORE_FULL as error:
            raise store_full_error() from error
        except (ActorUnavailableError, ActorDiedError) as error:
            if isinstance(error, ActorDiedError) or asyncio.get_running_loop().time() >= gives_up_s:
                raise actor_lost_error(error) from error
        except RayActorError as error:
            raise actor_lost_error(error) from error
        await asyncio.sleep(RESTART_POLL_S)


def actor_lost_error(error: RayActorError) -> JeevesError:
    """Return why an actor is gone. Ray keeps only the text of its constructor's error, whose last line names it.

    `may_come_back` of a ClusterError is true unless the actor died for good.
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    name, _, message = lines[-1].partition(": ")
    kind = getattr(errors, name.rpartition(".")[2], None)
    if isinstance(kind, type) and issubclass(kind, JeevesError):
        return kind(message)
    reason = _ESCAPES.sub("", lines[-1] if len(lines) > 1 and message else lines[0])
    may_come_back = not isinstance(error, ActorDiedError)
    advice = "ask again; if it stays so, look" if may_come_back else "look"
    told = f"an actor of the system is gone: {reason}; {advice} into the state folder's logs"
    return ClusterError(told, may_come_back=may_come_back)


def is_store_full(error: BaseException) -> bool:
    """Return whether a call failed because its arguments or its result found no room."""
    return isinstance(error, STORE_FULL) or (isinstance(error, RayTaskError) and isinstance(error.cause, STORE_FULL))


def store_full_error() -> ClusterError:
    """Return what a caller is told whose call found no room."""
    return ClusterError(
        "the object store of the Ray cluster has no room for a value of more than 100 KB, in memory or on disk; see "
        "who holds it with `ray memory`, end that work, or start the nodes with more (`ray start "
        "--object-store-memory`), and ask again; with `bus.links: true` most values do not pass through it",
        may_come_back=True,
    )
