"""Implements the actor side of the bus: an endpoint, and the calls that the bus makes."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from actors.actor_logs import configure_actor_logs
from actors.links.doors import Door
from actors.origin import check_origin
from actors.ray_transport import PROCESS_ID, RayTransport
from actors.tracing.actor_traces import export_actor_traces
from actors.tracing.trace_export import flush_traces
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import decode_frame
from runtime.errors import WireError
from runtime.processes.garbage import collect_rarely

log = logging.getLogger(__name__)


class Participant:
    """Gives an actor an address on the bus; subclasses set `self.endpoint` in their constructor and bind it."""

    endpoint: Endpoint

    def __init__(self) -> None:
        check_origin()
        collect_rarely()
        configure_actor_logs(type(self).__name__)
        export_actor_traces(type(self).__name__)
        self.transport = RayTransport()

    async def on_frames(self, frames: list[bytes]) -> list[None]:
        """Take frames from the bus by a Ray call."""
        self.take_frames(frames)
        return [None] * len(frames)

    def take_frames(self, frames: list[bytes]) -> bytes:
        """Take frames from the bus, in their order; an unreadable one does not affect the others."""
        for data in frames:
            try:
                frame = decode_frame(data)
            except WireError as error:
                log.error("frame.unreadable", extra={"address": self.endpoint.address, "reason": error.message})
                continue
            self.endpoint.on_frame(frame)
        return b""

    async def rebind(self) -> None:
        """Register again with a restarted bus, which has forgotten its endpoints."""
        self.endpoint.bind()

    async def stay_alive(self, door: Door | None = None) -> None:
        """Never return: the bus holds this call, and its failure reports the death of the process.

        `door`: where the bus listens for a link, if it does.
        """
        if door is not None:
            self.transport.follow(door, self.endpoint.address, self.take_frames)
        await asyncio.Event().wait()

    async def ask(self, type_: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask a query on the bus on behalf of a door, which has no address there."""
        return dict(await self.endpoint.query(type_, body, timeout_s))

    async def flush_traces(self) -> None:
        """Send the spans that are queued, before this process ends."""
        await asyncio.to_thread(flush_traces)

    async def process_id(self) -> str:
        """Return the id of this actor's process, which distinguishes it from its successor."""
        return PROCESS_ID

    async def ping(self) -> bool:
        """Return True; answers once the actor's constructor has succeeded."""
        return True
