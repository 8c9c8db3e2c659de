"""Carries batches of frames to one peer: by a link while there is one, by Ray calls otherwise.

Batches keep their order when a link opens: the first one waits for the calls that are under way. When a link breaks,
its batches are repeated as Ray calls, so that frames may arrive twice; receivers drop copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from actors.links.link import Link
from runtime.errors import LinkLostError, WireError

Outcome = TypeVar("Outcome")


class Carrier(Generic[Outcome]):
    """Carries to one peer. `by_ray`: frames → outcomes; `decode`: the same of a link's answer and a count of frames."""

    def __init__(
        self,
        by_ray: Callable[[list[bytes]], Awaitable[Sequence[Outcome]]],
        decode: Callable[[bytes, int], Sequence[Outcome]],
    ) -> None:
        self._by_ray = by_ray
        self._decode = decode
        self._calls: set[asyncio.Future[Sequence[Outcome]]] = set()
        self._link: Link | None = None

    @property
    def has_link(self) -> bool:
        """True while batches go by a link."""
        return self._link is not None and self._link.is_open

    def use(self, link: Link | None) -> None:
        """Carry by this link from now on, and close the former one."""
        if self._link is not None and self._link is not link:
            self._link.close()
        self._link = link

    async def carry(self, frames: list[bytes]) -> Sequence[Outcome]:
        """Return the outcome of each frame. Raises what the Ray call raises."""
        if self.has_link:
            while self._calls:
                await asyncio.wait(self._calls)
            link = self._link
            if link is not None and link.is_open:
                try:
                    return self._decode(await link.call(frames), len(frames))
                except (LinkLostError, WireError):
                    # The batch is repeated below: the peer may be there still, and drops copies. Ray also carries what
                    # is too large for a link.
                    pass
        call = asyncio.ensure_future(self._called(frames))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return await call

    async def _called(self, frames: list[bytes]) -> Sequence[Outcome]:
        return await self._by_ray(frames)
