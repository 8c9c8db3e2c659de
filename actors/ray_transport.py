"""Frames over Ray calls, several in one when there is much to say, towards the bus and from it.

A first transport, behind `runtime.bus.endpoint.Transport`; a later one takes the data path off Ray.
"""

from __future__ import annotations

import logging
import secrets
import threading
from concurrent.futures import Future
from typing import Any

import ray
from ray.exceptions import ActorDiedError, RayActorError

from actors.addresses import BUS_NAME
from runtime.bus.batching import Batcher
from runtime.bus.frames import Frame, SendOutcome, encode_frame
from runtime.primitives.ids import Address

NAMESPACE = "jeeves"

BIND_TRIES = 100
BIND_RETRY_S = 0.2

log = logging.getLogger(__name__)

# Tells this process from the one that Ray starts in its place when it dies.
PROCESS_ID = secrets.token_hex(8)


class RayTransport:
    """Connects the actor that it lives in with the bus actor."""

    def __init__(self) -> None:
        # Looked up by name rather than passed in: an actor that Ray restarts is given its arguments again, and those
        # must not be objects that may be gone by then.
        self._bus: Any = ray.get_actor(BUS_NAME, namespace=NAMESPACE)
        self._frames: Batcher[SendOutcome] = Batcher(self._deliver)

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Tell the bus our address and how to reach us; again and again while it is being restarted."""
        self._connect((address, ray.get_runtime_context().current_actor, PROCESS_ID, handles, subscribes))

    def _connect(self, introduction: tuple[Any, ...], tries_left: int = BIND_TRIES) -> None:
        def settled(connecting: Future[None]) -> None:
            error = connecting.exception()
            if error is None:
                return
            if isinstance(error, ActorDiedError) or tries_left == 0:
                log.error("transport.not_bound", extra={"address": introduction[0], "error": str(error)})
                return
            again = threading.Timer(BIND_RETRY_S, self._connect, (introduction, tries_left - 1))
            again.daemon = True
            again.start()

        self._bus.connect.remote(*introduction).future().add_done_callback(settled)

    async def send(self, frame: Frame) -> SendOutcome:
        """Hand a frame to the bus; a bus that is gone is `unreachable`."""
        try:
            return await self._frames.send(encode_frame(frame))
        except RayActorError:
            return "unreachable"

    async def _deliver(self, frames: list[bytes]) -> list[SendOutcome]:
        outcomes: list[SendOutcome] = await self._bus.deliver_all.remote(frames)
        return outcomes
