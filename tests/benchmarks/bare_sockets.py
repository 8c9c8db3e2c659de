"""The way of two hops over bare sockets, a floor for the bus: from one process through a second to a third, and back.

Bytes are passed on as they come: without frames, addresses, acknowledgements or anything that could be lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import uvloop

Times = tuple[list[float], float]


class PassOn(asyncio.Protocol):
    """Passes on what one of two connections sends to the other: the first one, and the latest one besides."""

    ends: ClassVar[list[PassOn]] = []
    transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember a connection."""
        self.transport = transport
        self.ends[1:] = []
        self.ends.append(self)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        first, *others = self.ends
        for end in others if self is first else (first,):
            end.transport.write(data)


class SendBack(asyncio.Protocol):
    """Sends back what comes, and ends with the connection."""

    transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Send bytes back."""
        self.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        """End the process."""
        asyncio.get_running_loop().stop()


class Ask(asyncio.Protocol):
    """Keeps `in_flight` bodies under way until `count` have come back."""

    def __init__(self, size: int, in_flight: int, count: int) -> None:
        self._body, self._left, self._in_flight = b"x" * size, count, in_flight
        self._began_s: deque[float] = deque()
        self._came = 0
        self._times: list[float] = []
        self.over: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first bodies."""
        self._transport: Any = transport
        for _ in range(self._in_flight):
            self._send()

    def data_received(self, data: bytes) -> None:
        """Count what has come back whole, and send as many again."""
        self._came += len(data)
        while self._came >= len(self._body):
            self._came -= len(self._body)
            self._times.append(time.perf_counter() - self._began_s.popleft())
            self._send()
        if not self._began_s and not self.over.done():
            self.over.set_result(sorted(self._times))

    def _send(self) -> None:
        if self._left:
            self._left -= 1
            self._began_s.append(time.perf_counter())
            self._transport.write(self._body)


@contextlib.contextmanager
def processes() -> Iterator[str]:
    """Start the process that passes on and the one that sends back; the path of the former's socket."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as started:
        path = str(Path(folder, "s"))
        for part in ("pass_on", "send_back"):
            command = [sys.executable, "-m", "tests.benchmarks.bare_sockets", part, path]
            process = started.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            started.callback(process.terminate)
            assert process.stdout is not None and process.stdout.readline()
        yield path


async def exchange(path: str, size: int, in_flight: int, count: int) -> Times:
    """Return how long each exchange of a body took, in order, and all of them together, in seconds."""
    loop = asyncio.get_running_loop()
    began_s = time.perf_counter()
    transport, asking = await loop.create_unix_connection(lambda: Ask(size, in_flight, count), path)
    times = await asking.over
    whole_s = time.perf_counter() - began_s
    transport.abort()
    return times, whole_s


def timed(path: str, size: int, in_flight: int, count: int) -> Times:
    """Exchange bodies as `exchange` does, on a loop of its own."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(exchange(path, size, in_flight, count))


def main(part: str, path: str) -> None:
    """Be one of the two other processes, until it is ended."""
    loop = uvloop.new_event_loop()
    if part == "pass_on":
        loop.run_until_complete(loop.create_unix_server(PassOn, path))
    else:
        loop.run_until_complete(loop.create_unix_connection(SendBack, path))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    loop.run_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
