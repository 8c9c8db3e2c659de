"""Carries frames between endpoints and the bus over Ray calls, in batches under load.

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

from actors.addresses import BUS_NAME, DEFAULT_NAMESPACE
from runtime.bus.batching import Batcher
from runtime.bus.frames import Frame, SendOutcome, encode_frame
from runtime.primitives.ids import Address

BIND_TRIES = 100
BIND_RETRY_S = 0.2

log = logging.getLogger(__name__)

# Distinguishes this process from the one that Ray starts in its place when it dies.
PROCESS_ID = secrets.token_hex(8)


def namespace() -> str:
    """Return the Ray namespace of the system that this process belongs to: the one that its driver connected with."""
    if not ray.is_initialized():
        return DEFAULT_NAMESPACE  # asking for the context would start a cluster
    return str(ray.get_runtime_context().namespace)


class RayTransport:
    """Connects the actor that it lives in with the bus actor."""

    def __init__(self) -> None:
        # Looked up by name rather than passed in: Ray passes a restarted actor the same arguments again, and those
        # must not be handles that may be stale by then.
        self._bus: Any = ray.get_actor(BUS_NAME, namespace=namespace())
        self._frames: Batcher[SendOutcome] = Batcher(self._deliver)

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Register our address and actor handle with the bus; retry while the bus is being restarted."""
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
