"""Watches other actors by heartbeats, and restarts an actor whose process does not answer.

Ray restarts a process that died, but never detects one that is stopped or stuck. The supervisor watches all other
actors, the bus watches the supervisor. Heartbeats are Ray calls, not frames: the bus may be the one that hangs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import ray
from ray.exceptions import RayError

from actors.ray_transport import namespace
from runtime.hosting.failure_detector import Heartbeats
from runtime.primitives.background_tasks import spawn
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address

log = logging.getLogger(__name__)


class Watch:
    """Watches actors. `on_incarnation` gets the address and the process id of an actor, each time that it answers."""

    def __init__(
        self,
        beats: Heartbeats,
        addresses: Iterable[Address],
        on_incarnation: Callable[[Address, str], None] | None = None,
    ) -> None:
        self._beats = beats
        self._addresses = tuple(addresses)
        self._on_incarnation = on_incarnation
        self._handles: dict[Address, Any] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asked_soon: set[Address] = set()
        self._wake = asyncio.Event()

    async def run(self, clock: Clock, every_s: float) -> None:
        """Send a heartbeat to every actor each `every_s` seconds, for ever, and replace those that hang."""
        while True:
            for address in self._addresses:
                self._ask(address, clock.monotonic_s())
            for address in self._beats.hanging(clock.monotonic_s()):
                await self._replace(address)
            await clock.sleep(every_s)

    def ask_soon(self, address: Address) -> None:
        """Send a heartbeat to a watched actor now rather than in the next round, as it may have died."""
        if address in self._addresses:
            spawn(self._tasks, self._answered(address))

    def _ask(self, address: Address, now_s: float) -> None:
        if self._beats.ask(address, now_s):
            spawn(self._tasks, self._answered(address))

    async def _answered(self, address: Address) -> None:
        try:
            handle = self._handles.get(address) or ray.get_actor(address, namespace=namespace())
            self._handles[address] = handle
            incarnation: str = await handle.process_id.remote()
        except (RayError, ValueError) as error:
            # It died and is being restarted, or does not exist yet: Ray sees to that, and it does not count as hanging.
            log.debug("watch.unreachable", extra={"address": address, "reason": str(error)})
            self._beats.unreachable(address)
            return
        self._beats.answered(address)
        if self._on_incarnation is not None:
            self._on_incarnation(address, incarnation)

    async def _replace(self, address: Address) -> None:
        log.warning("watch.replaced", extra={"address": address})
        try:
            await asyncio.to_thread(ray.kill, self._handles[address], no_restart=False)
        except (RayError, ValueError) as error:
            # It ended by itself meanwhile, or Ray cannot be reached right now: the next rounds will show which.
            log.warning("watch.not_replaced", extra={"address": address, "reason": str(error)})
