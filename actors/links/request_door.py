"""Opens an actor to requests by links, beside the Ray calls that it answers anyway."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from actors.links.doors import Door, LinksBy, Listener
from actors.links.requests import Method, RequestServer
from actors.ray_transport import this_host, this_node


class RequestDoor:
    """Lets the actor's callers connect. `methods`: those that may be called; `links`: by which of them, if by any."""

    def __init__(self, methods: Mapping[str, Method], links: LinksBy) -> None:
        admit = RequestServer(methods).admit
        self._listener = Listener(this_node(), admit, host=this_host(), by=links) if links else None

    async def door_for(self, node: str | None) -> tuple[str, Door] | None:
        """Return a new address and where to connect under it, for a caller on that machine; None without links."""
        if self._listener is None:
            return None
        address = f"door-{secrets.token_hex(8)}"
        door = await self._listener.door_for(address, node)
        return None if door is None else (address, door)
