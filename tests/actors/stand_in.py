"""An actor that holds the address of an agent at the bus: it takes what is sent there, and does nothing about it."""

from __future__ import annotations

import asyncio

from runtime.bus.frames import Frame, decode_frame


class StandIn:
    """Answers to the bus as the process of the agent, so that nobody takes that one for dead."""

    def __init__(self, process_id: str) -> None:
        self._process_id = process_id
        self._frames: list[Frame] = []
        self._news = asyncio.Condition()

    async def on_frames(self, frames: list[bytes]) -> list[None]:
        """Keep frames from the bus, in their order."""
        async with self._news:
            self._frames += map(decode_frame, frames)
            self._news.notify_all()
        return [None] * len(frames)

    async def stay_alive(self, door: object = None) -> None:
        """Never return, as the bus expects of its endpoints."""
        await asyncio.Event().wait()

    async def process_id(self) -> str:
        """Return the id of the agent's process."""
        return self._process_id

    async def taken(self, type_: str, about: str, at_least: int) -> list[str | None]:
        """Wait for a number of frames of that type and correlation id; return the ids of all frames of that type."""

        def found() -> list[str | None]:
            return [frame.header.correlation_id for frame in self._frames if frame.header.type == type_]

        async with self._news:
            await self._news.wait_for(lambda: found().count(about) >= at_least)
            return found()
