"""An actor of benchmarks: exchanges bodies with another one, by frames that the bus routes or by Ray calls."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

from actors.participant import Participant
from runtime.bus.endpoint import Endpoint
from runtime.bus.frames import Frame
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address


class Exchanger(Participant):
    """An actor that exchanges bodies with another one, by the bus or by Ray calls."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._answers: dict[bytes, asyncio.Future[bytes]] = {}
        self._numbers = itertools.count()
        frames = {"bench.there": self._there, "bench.back": self._back}
        self.endpoint = Endpoint(Address(address), self.transport, SystemClock(), frames=frames)
        self.endpoint.bind()

    async def _there(self, frame: Frame) -> None:
        await self.endpoint.command(frame.header.source, "bench.back", frame.body)

    async def _back(self, frame: Frame) -> None:
        self._answers.pop(frame.body[:8]).set_result(frame.body)

    async def echo(self, body: bytes) -> bytes:
        """Return the body."""
        return body

    async def by_bus(self, other: str, size: int, in_flight: int, count: int) -> tuple[list[float], float]:
        """Exchange bodies over the bus; return the time of each exchange, and of all."""

        async def exchange() -> None:
            number = next(self._numbers).to_bytes(8, "big")
            self._answers[number] = answer = asyncio.get_running_loop().create_future()
            assert await self.endpoint.command(Address(other), "bench.there", number.ljust(size, b"x")) == "accepted"
            assert len(await answer) == size

        return await _timed(exchange, in_flight, count)

    async def by_ray(self, other: str, size: int, in_flight: int, count: int) -> tuple[list[float], float]:
        """Exchange bodies by Ray calls; return as `by_bus`."""
        import ray

        from actors.ray_transport import namespace

        peer: Any = ray.get_actor(other, namespace=namespace())
        body = b"x" * size

        async def exchange() -> None:
            assert len(await peer.echo.remote(body)) == size

        return await _timed(exchange, in_flight, count)


async def _timed(exchange: Any, in_flight: int, count: int) -> tuple[list[float], float]:
    times: list[float] = []
    left = iter(range(count))

    async def some() -> None:
        for _ in left:
            began_s = time.perf_counter()
            await exchange()
            times.append(time.perf_counter() - began_s)

    began_s = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(in_flight)))
    return sorted(times), time.perf_counter() - began_s
