"""Connects an endpoint with the bus: by a link where there is one, and by Ray calls.

Ray answers for where processes are, whether they live, and for starting them again; frames take the link.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from concurrent.futures import Future
from typing import Any

import ray
from ray.exceptions import ActorDiedError, RayActorError

from actors.actor_calls import STORE_FULL
from actors.addresses import BUS_NAME, DEFAULT_NAMESPACE
from actors.links.carrier import Carrier
from actors.links.doors import Door, connected
from actors.links.link import OnFrames
from runtime.bus.frames import Frame, SendOutcome, encode_frame
from runtime.bus.link_messages import decode_outcomes
from runtime.errors import LinkLostError
from runtime.primitives.ids import Address

BIND_TRIES = 100
BIND_RETRY_S = 0.2
FIRST_REDIAL_S = 0.05
LONGEST_REDIAL_S = 5.0

log = logging.getLogger(__name__)

# Distinguishes this process from the one that Ray starts in its place when it dies.
PROCESS_ID = secrets.token_hex(8)


def namespace() -> str:
    """Return the Ray namespace of the system that this process belongs to: the one that its driver connected with."""
    if not ray.is_initialized():
        return DEFAULT_NAMESPACE  # asking for the context would start a cluster
    return str(ray.get_runtime_context().namespace)


def this_node() -> str:
    """Return the id of the machine that this process runs on, as Ray identifies it; empty without Ray."""
    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""


def this_host() -> str:
    """Return the address by which other machines of the cluster reach this one."""
    if not ray.is_initialized():
        return "127.0.0.1"
    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


class RayTransport:
    """Connects the actor that it lives in with the bus actor."""

    def __init__(self) -> None:
        # Looked up by name rather than passed in: Ray passes a restarted actor the same arguments again, and those
        # must not be handles that may be stale by then.
        self._bus: Any = ray.get_actor(BUS_NAME, namespace=namespace())
        self._carrier: Carrier[SendOutcome] = Carrier(self._call, lambda answer, _: decode_outcomes(answer))
        self._following: asyncio.Task[None] | None = None

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Register our address and actor handle with the bus; retry while the bus is being restarted."""
        self._connect((address, ray.get_runtime_context().current_actor, PROCESS_ID, handles, subscribes, this_node()))

    def follow(self, door: Door, address: Address, on_frames: OnFrames) -> None:
        """Keep a link to the bus behind a door, until another door is given: a bus has one as long as it lives."""
        if self._following is not None:
            self._following.cancel()
        self._following = asyncio.get_running_loop().create_task(self._keep_link(door, address, on_frames))

    async def send(self, frame: Frame) -> SendOutcome:
        """Hand a frame to the bus; one that is gone, or to which nothing can be carried now, is `unreachable`."""
        try:
            return await self._carrier.send(encode_frame(frame))
        except RayActorError:
            return "unreachable"
        except STORE_FULL:
            log.warning("transport.object_store_full", extra={"type": frame.header.type, "bytes": len(frame.body)})
            return "unreachable"

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

    async def _call(self, frames: list[bytes]) -> list[SendOutcome]:
        outcomes: list[SendOutcome] = await self._bus.deliver_all.remote(frames)
        return outcomes

    async def _keep_link(self, door: Door, address: Address, on_frames: OnFrames) -> None:
        if not door.is_for(this_node()):
            return
        pause_s = FIRST_REDIAL_S
        while True:
            try:
                link = await connected(door, address, PROCESS_ID, on_frames)
            except (OSError, TimeoutError, LinkLostError) as error:
                log.info("link.not_connected", extra={"address": address, "reason": str(error)})
            else:
                pause_s = FIRST_REDIAL_S
                self._carrier.use(link)
                await link.closed.wait()
                log.info("link.closed", extra={"address": address})
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_REDIAL_S)
