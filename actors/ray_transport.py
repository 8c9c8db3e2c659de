"""Frames over Ray calls: one call per message, towards the bus and from it.

A first transport, behind `runtime.endpoint.Transport`; a later one takes the data path off Ray.
"""

from __future__ import annotations

import secrets
from typing import Any

import ray
from ray.exceptions import RayActorError

from runtime.ids import Address
from runtime.messages import Frame, SendOutcome, encode_frame

NAMESPACE = "jeeves"
BUS_NAME = "bus"

# Tells this process from the one that Ray starts in its place when it dies.
PROCESS_ID = secrets.token_hex(8)


class RayTransport:
    """Connects the actor that it lives in with the bus actor."""

    def __init__(self) -> None:
        # Looked up by name rather than passed in: an actor that Ray restarts is given its arguments again, and those
        # must not be objects that may be gone by then.
        self._bus: Any = ray.get_actor(BUS_NAME, namespace=NAMESPACE)

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Tell the bus our address and how to reach us."""
        myself = ray.get_runtime_context().current_actor
        self._bus.connect.remote(address, myself, PROCESS_ID, handles, subscribes)

    async def send(self, frame: Frame) -> SendOutcome:
        """Hand a frame to the bus; a bus that is gone is `unreachable`."""
        try:
            outcome: SendOutcome = await self._bus.deliver.remote(encode_frame(frame))
        except RayActorError:
            return "unreachable"
        return outcome
