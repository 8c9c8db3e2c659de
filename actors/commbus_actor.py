"""Hosts the bus as an actor: routes frames between endpoints, and detects lost endpoints.

It never decodes a body and waits for nothing: `FrameRouter` delivers frames, and watching an endpoint is a task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import ray
from ray.exceptions import ActorDiedError, RayActorError

from actors.actor_logs import configure_actor_logs
from actors.frame_router import RETRY_S, FrameRouter
from actors.links.doors import LinksBy, Listener
from actors.links.link import Link, OnFrames
from actors.origin import check_origin
from actors.ray_transport import PROCESS_ID, namespace, this_host, this_node
from actors.watch import Watch
from runtime.bus.builtin_middleware import DEFAULT_CHAIN, build_chain
from runtime.bus.dispatcher import Dispatcher
from runtime.bus.frames import BUS, Frame, Header, SendOutcome, encode_frame, pack_body
from runtime.bus.link_messages import Hello
from runtime.bus.routing_table import RoutingTable
from runtime.effects.journal import JOURNAL_QUERIES
from runtime.errors import DuplicateHandlerError
from runtime.hosting.failure_detector import HANGS_AFTER_S, HEARTBEAT_S, Heartbeats
from runtime.primitives.background_tasks import spawn
from runtime.primitives.clock import Clock, SystemClock
from runtime.primitives.ids import Address, new_message_id
from runtime.processes.garbage import collect_rarely

log = logging.getLogger(__name__)

ENDPOINT_LOST = "endpoint.lost"


class CommBusActor:
    """Hosts one bus. Created by `actors.system`; endpoints call `connect` and `deliver_all`.

    `expected`: address → the query types that it will handle, for endpoints whose processes are still starting; each is
    a named actor. `middleware`: plain data for `bus.builtin_middleware.build_chain`. `watched`: addresses that are
    replaced when their process hangs; these are the supervisors, which watch all other actors. `links`: which are used;
    False to carry every frame by Ray calls, where sockets are not allowed.
    """

    def __init__(
        self,
        expected: dict[Address, tuple[str, ...]],
        middleware: Iterable[Mapping[str, Any]] = DEFAULT_CHAIN,
        clock: Clock | None = None,
        watched: Iterable[Address] = (),
        hangs_after_s: float = HANGS_AFTER_S,
        heartbeat_s: float = HEARTBEAT_S,
        links: LinksBy = True,
    ) -> None:
        check_origin()
        collect_rarely()
        configure_actor_logs(type(self).__name__)
        clock = clock or SystemClock()
        self._guard = Watch(Heartbeats(hangs_after_s), watched)
        self._guarding = (clock, heartbeat_s)
        self._is_guarding = False
        self._table = RoutingTable()
        # Askers of the journal wait for it: a refusal would fail a stage that could have continued.
        self._dispatcher = Dispatcher(self._table, build_chain(middleware, clock, JOURNAL_QUERIES), clock)
        for address, handles in expected.items():
            self._table.expect(address, tuple(handles))
        self._listener = Listener(this_node(), self._admit, host=this_host(), by=links) if links else None
        self._router = FrameRouter(self._table, self._dispatcher)
        self._process: dict[Address, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        if ray.is_initialized() and ray.get_runtime_context().was_current_actor_reconstructed:
            _request_rebind(expected)

    async def connect(
        self,
        address: Address,
        handle: Any,
        process_id: str,
        handles: tuple[str, ...],
        subscribes: tuple[str, ...],
        node: str | None = None,
    ) -> None:
        """Connect an endpoint, publish the loss of its former process, deliver parked frames, and watch it.

        `node`: the machine of its process, as Ray identifies it; this one if it is not given.
        """
        if not self._is_guarding:
            self._is_guarding = True
            spawn(self._tasks, self._guard.run(*self._guarding))
        # An endpoint that binds again from the same process has lost nothing.
        is_successor = self._process.get(address, process_id) != process_id
        try:
            parked = self._table.connect(address, handles, subscribes)
        except DuplicateHandlerError:
            log.exception("bus.refused_endpoint", extra={"address": address})
            return
        self._router.carry_to(address, handle.on_frames.remote)
        self._process[address] = process_id
        if is_successor:
            parked = self._table.still_wanted(parked, ENDPOINT_LOST)
            self._router.deliver_all(self._dispatcher.on_replaced(address, parked))
            self._publish_lost(address, for_good=False, successor=process_id)
        spawn(self._tasks, self._watch(address, handle, process_id, node))
        self._router.deliver_all((address, data) for data in parked)

    def _admit(self, link: Link, hello: Hello) -> OnFrames | None:
        """Carry an endpoint's frames by a link from now on, if its process is the one that is connected."""
        address = Address(hello.address)
        if self._process.get(address) != hello.process_id:
            log.info("link.of_another_process", extra={"address": hello.address[:200]})
            return None
        self._router.use_link(address, link)
        return self._router.route_batch

    async def deliver_all(self, frames: list[bytes]) -> list[SendOutcome]:
        """Route frames in their order; return for each whether it was taken."""
        return [self._router.route(data) for data in frames]

    async def process_id(self) -> str:
        """Return the id of the bus's process, which distinguishes it from its successor."""
        return PROCESS_ID

    async def stats(self) -> dict[str, Any]:
        """Return counters and tables, the latest dead letters, the middleware's statistics, and who has a link."""
        return {**self._dispatcher.stats(), "links": self._router.linked}

    async def _watch(self, address: Address, handle: Any, process_id: str, node: str | None) -> None:
        """Hold a call that never returns: its failure reports the death of the process to the bus.

        It also fails when Ray knows of a new process later than the process connects here. So an unreachable endpoint
        is only away; it is lost when another process connects in its place, or when Ray gives it up.
        """
        incarnation = self._table.incarnation(address)
        door = None if self._listener is None else await self._listener.door_for(address, node)
        while True:
            try:
                await handle.stay_alive.remote(door)
            except ActorDiedError:
                if self._lose(address, incarnation, for_good=True):
                    self._publish_lost(address, for_good=True)
                return
            except RayActorError:
                if not self._lose(address, incarnation, for_good=False):
                    return
            if await _process_behind(handle) not in {process_id, None}:
                return
            parked = self._table.rejoin(address, incarnation) or []
            self._router.deliver_all((address, data) for data in parked)

    def _lose(self, address: Address, incarnation: int, for_good: bool) -> bool:
        """Record that an endpoint cannot be reached, and fail its queries; return False when it was replaced."""
        news, failures = self._dispatcher.mark_lost(address, incarnation, for_good)
        self._router.deliver_all(failures)
        return news

    def _publish_lost(self, address: Address, for_good: bool, successor: str | None = None) -> None:
        """Publish the loss of an endpoint; `successor` is the id of the process that has replaced the lost one."""
        log.warning("bus.endpoint_lost", extra={"address": address, "for_good": for_good})
        body = pack_body({"address": address, "for_good": for_good, "life": successor})
        header = Header(new_message_id(), "event", ENDPOINT_LOST, BUS)
        self._router.route(encode_frame(Frame(header, body)))


def _request_rebind(addresses: Iterable[Address]) -> None:
    """Ask the endpoints to register again after a restart of the bus: those that only answer would not notice it."""
    for address in addresses:
        try:
            ray.get_actor(address, namespace=namespace()).rebind.remote()
        except ValueError:
            log.info("bus.endpoint_missing", extra={"address": address})


async def _process_behind(handle: Any) -> str | None:
    """Return the id of an actor's process, once it can be reached; None when Ray has given it up."""
    while True:
        try:
            process_id: str = await handle.process_id.remote()
        except ActorDiedError:
            return None
        except RayActorError:
            await asyncio.sleep(RETRY_S)
        else:
            return process_id
