"""What every actor on the bus has in common: an endpoint, and the calls that the bus makes."""

from __future__ import annotations

import asyncio
import logging

from actors.origin import check_origin
from actors.ray_transport import PROCESS_ID
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import decode_frame
from runtime.errors import WireError

log = logging.getLogger(__name__)


class Participant:
    """An actor with an address on the bus; subclasses set `self.endpoint` in their constructor and bind it."""

    endpoint: Endpoint

    def __init__(self) -> None:
        check_origin()

    async def on_frames(self, frames: list[bytes]) -> list[None]:
        """Take frames from the bus, in their order; one that cannot be read costs the others nothing."""
        for data in frames:
            try:
                frame = decode_frame(data)
            except WireError as error:
                log.error("frame.unreadable", extra={"address": self.endpoint.address, "reason": error.message})
                continue
            self.endpoint.on_frame(frame)
        return [None] * len(frames)

    async def rebind(self) -> None:
        """Appear again on a bus that was restarted; it forgot who was there."""
        self.endpoint.bind()

    async def stay_alive(self) -> None:
        """Never returns: the bus holds this call and learns from its failure that the process died."""
        await asyncio.Event().wait()

    async def process_id(self) -> str:
        """Tells the process that this actor lives in from its successor."""
        return PROCESS_ID

    async def ping(self) -> bool:
        """Answers when the actor's constructor has succeeded."""
        return True
