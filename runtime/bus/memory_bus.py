"""Provides a bus in this process, for tests, over the rules of the real one.

Frames go through bytes, as they do between processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from runtime.bus.builtin_middleware import Deduplication
from runtime.bus.dispatcher import Delivery, Dispatcher
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame, SendOutcome, decode_frame, encode_frame
from runtime.bus.middleware import Chain, Middleware
from runtime.bus.routing_table import RoutingTable
from runtime.primitives.clock import Clock, FakeClock
from runtime.primitives.ids import Address


class MemoryBus:
    """Delivers frames between the endpoints that joined it, and records them in `sent`.

    `answer`, once set, is returned for every frame instead of taking it.
    """

    def __init__(self, clock: Clock | None = None, middleware: Iterable[Middleware] = ()) -> None:
        self.clock = FakeClock()
        self._time: Clock = clock or self.clock
        self.endpoints: dict[Address, Endpoint] = {}
        self.sent: list[Frame] = []
        self.answer: SendOutcome | None = None
        self.start(middleware)

    def start(self, middleware: Iterable[Middleware] = ()) -> None:
        """Clear all tables, as a restart of the bus does."""
        self.table = RoutingTable()
        self.dispatcher = Dispatcher(self.table, Chain([Deduplication(), *middleware]), self._time)

    def deliver(self, data: bytes) -> SendOutcome:
        self.sent.append(decode_frame(data))
        if self.answer is not None:
            return self.answer
        taken = self.dispatcher.dispatch(data)
        self.hand_over(taken.deliver)
        return taken.outcome

    def hand_over(self, deliveries: Iterable[Delivery]) -> None:
        for address, data in deliveries:
            self.endpoints[address].on_frame(decode_frame(data))

    def kinds(self) -> list[str]:
        """Return the kinds of the frames that were sent."""
        return [frame.header.kind for frame in self.sent]

    def join(self, address: str, **options: Any) -> Endpoint:
        """Return a new endpoint, bound to `address`."""
        endpoint = Endpoint(Address(address), MemoryTransport(self), self._time, **options)
        self.endpoints[endpoint.address] = endpoint
        endpoint.bind()
        return endpoint


class MemoryTransport:
    """Connects one endpoint to the bus."""

    def __init__(self, bus: MemoryBus) -> None:
        self._bus = bus

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        if self._bus.answer != "unreachable":
            parked = self._bus.table.connect(address, handles, subscribes)
            self._bus.hand_over([(address, data) for data in parked])

    async def send(self, frame: Frame) -> SendOutcome:
        await asyncio.sleep(0)
        return self._bus.deliver(encode_frame(frame))


async def settle() -> None:
    """Yield to the event loop until everything that can run has run."""
    for _ in range(50):
        await asyncio.sleep(0)
