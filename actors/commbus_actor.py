"""The bus as an actor: routes frames between endpoints, and notices when an endpoint's process is gone.

It never decodes a body and waits for nobody: handing over a frame and watching an endpoint are tasks of their own.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ray.exceptions import ActorDiedError, RayActorError

from actors.origin import check_origin
from runtime.commbus import BusTable
from runtime.errors import DuplicateHandlerError
from runtime.ids import Address, new_message_id
from runtime.messages import Frame, Header, SendOutcome, decode_header, encode_frame, pack_body

log = logging.getLogger(__name__)

BUS_ADDRESS = Address("bus")
ENDPOINT_LOST = "endpoint.lost"
FRAMES_UNDER_WAY = 10_000


class CommBusActor:
    """One bus. Created by `actors.system`; endpoints call `connect` and `deliver`.

    `expected`: address → the query types that it will handle, for endpoints whose processes are still coming up.
    """

    def __init__(self, expected: dict[Address, tuple[str, ...]]) -> None:
        check_origin()
        self._table = BusTable()
        for address, handles in expected.items():
            self._table.expect(address, tuple(handles))
        self._handles: dict[Address, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(
        self, address: Address, handle: Any, handles: tuple[str, ...], subscribes: tuple[str, ...]
    ) -> None:
        """Take up an endpoint, hand it what was parked for it, and watch its process."""
        # Ray may have restarted the process before the call that watched the old one has failed.
        replaced = self._table.is_connected(address)
        try:
            parked = self._table.connect(address, handles, subscribes)
        except DuplicateHandlerError:
            log.exception("bus.refused_endpoint", extra={"address": address})
            return
        self._handles[address] = handle
        if replaced:
            await self._tell_lost(address, for_good=False)
        self._spawn(self._watch(address, handle, self._table.incarnation(address)))
        for data in parked:
            self._spawn(self._hand_over(address, data))

    async def deliver(self, data: bytes) -> SendOutcome:
        """Route one frame; says whether it was taken."""
        if len(self._tasks) >= FRAMES_UNDER_WAY:
            return "full"
        header, _ = decode_header(data)
        routing = self._table.route(header)
        if routing.refused is not None:
            log.warning("bus.dead_letter", extra={"type": header.type, "run_id": header.run_id, "why": routing.refused})
            return "unreachable"
        for address in routing.deliver:
            self._spawn(self._hand_over(address, data))
        kept = [self._table.park(address, data) for address in routing.park]
        return "accepted" if all(kept) else "full"

    async def stats(self) -> dict[str, object]:
        """Counters and tables of the bus."""
        return self._table.stats()

    async def _hand_over(self, address: Address, data: bytes) -> None:
        incarnation = self._table.incarnation(address)
        try:
            await self._handles[address].on_frame.remote(data)
        except RayActorError:
            # The frame may or may not have been taken. Handing it over again is safe: endpoints' work is keyed, and a
            # doubled result changes nothing.
            if self._table.take_back(address, incarnation, data):
                self._spawn(self._hand_over(address, data))

    async def _watch(self, address: Address, handle: Any, incarnation: int) -> None:
        """A call that never returns fails when its process dies: that is how the bus learns of it."""
        try:
            await handle.stay_alive.remote()
        except RayActorError as error:
            for_good = isinstance(error, ActorDiedError)
            if self._table.lose(address, incarnation, for_good):
                await self._tell_lost(address, for_good)

    async def _tell_lost(self, address: Address, for_good: bool) -> None:
        log.warning("bus.endpoint_lost", extra={"address": address, "for_good": for_good})
        body = pack_body({"address": address, "for_good": for_good})
        header = Header(new_message_id(), "event", ENDPOINT_LOST, BUS_ADDRESS)
        await self.deliver(encode_frame(Frame(header, body)))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
