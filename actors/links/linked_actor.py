"""Calls an actor by a link where there is one, and by Ray calls otherwise.

The first call asks the actor for its door, and opens the link behind that call: a command that calls once waits for
nothing. A request whose link breaks is made again as a Ray call, so methods have to be idempotent.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

import ray
from ray.exceptions import RayError

from actors.links.doors import Door, connected
from actors.links.requests import RequestClient
from actors.ray_transport import PROCESS_ID, this_node
from runtime.errors import LinkLostError

PAUSE_S = 1.0

log = logging.getLogger(__name__)


class LinkedActor:
    """Wraps the handle of an actor that has a method `door`; results are what MessagePack makes of them."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self._client: RequestClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[None] | None = None
        self._not_before_s = 0.0

    async def call(self, method: str, *arguments: Any) -> Any:
        """Return what a method returns. Raises its errors: as they are by a link, wrapped by Ray otherwise."""
        return await self._called(method, arguments, cancels=False)

    async def call_cancellably(self, method: str, *arguments: Any) -> Any:
        """Return what a method returns, as `call` does; cancellation ends it in the actor as well."""
        return await self._called(method, arguments, cancels=True)

    async def _called(self, method: str, arguments: tuple[Any, ...], *, cancels: bool) -> Any:
        client = self._open_client()
        if client is not None:
            try:
                return await client.ask(method, arguments, cancels=cancels)
            except LinkLostError as error:
                log.info("link.lost", extra={"method": method, "reason": error.message})
        reference = getattr(self.handle, method).remote(*arguments)
        try:
            return await reference
        except asyncio.CancelledError:
            if cancels:
                ray.cancel(reference)
            raise

    def _open_client(self) -> RequestClient | None:
        """Return the client if its link is open; begin to open one otherwise."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._client, self._opening, self._not_before_s = loop, None, None, 0.0
        if self._client is not None and self._client.is_open:
            return self._client
        is_opening = self._opening is not None and not self._opening.done()
        if not is_opening and loop.time() >= self._not_before_s:
            self._not_before_s = loop.time() + PAUSE_S
            self._opening = loop.create_task(self._open())
        return None

    async def _open(self) -> None:
        try:
            told: tuple[str, Door] | None = await self.handle.door.remote(this_node())
            if told is None or not told[1].is_for(this_node()):
                self._not_before_s = float("inf")  # it stays so as long as that process lives; a new loop asks again
                return
            client = RequestClient()
            client.use(await connected(told[1], told[0], f"{PROCESS_ID}-{secrets.token_hex(4)}", client.take))
        except (OSError, TimeoutError, LinkLostError, RayError) as error:
            log.info("link.not_connected", extra={"reason": str(error)[:200]})
            return
        self._client = client
