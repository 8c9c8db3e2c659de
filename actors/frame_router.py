"""Routes frames between the endpoints of one bus, and delivers each until it has arrived.

It lives beside the actor of the bus rather than in it: Ray wraps every method of an actor, also for calls within it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from ray.exceptions import RayActorError

from actors.actor_calls import is_store_full
from actors.links.carrier import Carrier
from actors.links.link import Link
from runtime.bus.dispatcher import Delivery, Dispatcher
from runtime.bus.frames import SendOutcome
from runtime.bus.link_messages import encode_outcomes
from runtime.bus.routing_table import RoutingTable
from runtime.errors import WireError
from runtime.primitives.ids import Address

FRAMES_UNDER_WAY = 10_000
RETRY_S = 0.1
RETRY_FULL_S = 0.5

log = logging.getLogger(__name__)

OnFrames = Callable[[list[bytes]], Awaitable[Sequence[None]]]


class FrameRouter:
    """Routes by a table and a dispatcher. Endpoints are given with `carry_to` before anything is delivered to them."""

    def __init__(self, table: RoutingTable, dispatcher: Dispatcher) -> None:
        self._table = table
        self._dispatcher = dispatcher
        self._carriers: dict[Address, Carrier[None]] = {}
        self._under_way = 0

    @property
    def linked(self) -> list[Address]:
        """The addresses that have a link, sorted."""
        return sorted(address for address, carrier in self._carriers.items() if carrier.has_link)

    def carry_to(self, address: Address, by_ray: OnFrames) -> None:
        """Deliver to an endpoint by Ray calls from now on, and close the link of its former process."""
        former = self._carriers.get(address)
        if former is not None:
            former.use(None)
        self._carriers[address] = Carrier(by_ray, lambda _, count: [None] * count)

    def use_link(self, address: Address, link: Link) -> None:
        """Deliver to an endpoint by a link from now on."""
        self._carriers[address].use(link)

    def route_batch(self, frames: list[bytes]) -> bytes:
        """Route frames of a link in their order; return the encoded outcomes."""
        return encode_outcomes([self.route(data) for data in frames])

    def route(self, data: bytes) -> SendOutcome:
        """Route one frame; return whether it was taken."""
        if self._under_way >= FRAMES_UNDER_WAY:
            return "full"
        try:
            taken = self._dispatcher.dispatch(data)
        except WireError as error:  # the other frames of its batch are still to be routed
            log.error("bus.unreadable", extra={"reason": error.message})
            return "refused"
        if taken.why is not None:
            log.warning("bus.not_taken", extra={"outcome": taken.outcome, "why": taken.why})
        self.deliver_all(taken.deliver)
        return taken.outcome

    def deliver_all(self, deliveries: Iterable[Delivery]) -> None:
        """Deliver frames to their addresses."""
        for address, data in deliveries:
            self._under_way += 1
            self._deliver(address, data)

    def _deliver(self, address: Address, data: bytes) -> None:
        incarnation = self._table.incarnation(address)
        delivered = self._carriers[address].post(data)
        delivered.add_done_callback(partial(self._delivered, address, data, incarnation))

    def _delivered(self, address: Address, data: bytes, incarnation: int, delivered: asyncio.Future[None]) -> None:
        error = delivered.exception()
        if error is None:
            self._under_way -= 1
            self._table.settled(address, data)
        elif isinstance(error, RayActorError):
            self._requeue(address, data, incarnation)
        elif is_store_full(error):
            # It counts against nobody, and what waits is bounded like all that is under way.
            log.warning("bus.object_store_full", extra={"address": address, "bytes": len(data)})
            asyncio.get_running_loop().call_later(RETRY_FULL_S, self._deliver, address, data)
        else:
            self._under_way -= 1
            log.error("bus.not_delivered", extra={"address": address}, exc_info=error)

    def _requeue(self, address: Address, data: bytes, incarnation: int) -> None:
        """Take back a frame that may or may not have arrived.

        Delivering it again is safe: endpoints' work is keyed, and a duplicate result changes nothing. Frames that kill
        their receivers are given up in the end.
        """
        again, failures = self._dispatcher.requeue(address, data, incarnation)
        self.deliver_all(failures)
        if again:
            asyncio.get_running_loop().call_later(RETRY_S, self._deliver, address, data)
        else:
            self._under_way -= 1
