"""Serves the protocol of `serve.runtimes.warm` on a Unix socket: one request per connection.

A client that disconnects cancels its request. Ray is not imported here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from runtime.bus.queries import error_to_wire
from runtime.errors import InputError, JeevesError
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent
from serve.principals import at_socket

log = logging.getLogger(__name__)


class Client:
    """Represents the client of one connection: sends lines to it, and queues the lines that follow its request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connection = writer.get_extra_info("socket")
        self._reader = reader
        self._writer = writer
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def user_id(self, claimed_id: str = "") -> str:
        """Return the principal of the client: its operating-system user, or their batch work if it claims that."""
        return at_socket(self._connection, claimed_id).user_id

    async def until_gone(self) -> None:
        """Queue the lines of the client, and return when it has disconnected."""
        while line := await self._reader.readline():
            self._lines.put_nowait(line)

    def tell(self, what: dict[str, Any]) -> None:
        """Send one line."""
        self._writer.write(json.dumps(what, ensure_ascii=False).encode() + b"\n")

    def on_event(self, event: ClientEvent) -> None:
        """Send an event."""
        self.tell({"event": msgspec.to_builtins(event)})

    def on_indexing(self, done: int, total: int) -> None:
        """Send the progress of indexing."""
        self.tell({"indexing": [done, total]})

    def on_waiting(self, sentence: str) -> None:
        """Send which lock is waited for."""
        self.tell({"waiting": sentence})

    async def on_interrupt(self, interrupt: dict[str, Any]) -> InterruptResponse | None:
        """Send a question and wait for the line with the answer."""
        self.tell({"interrupt": interrupt})
        reply = json.loads(await self._lines.get())
        return None if reply is None else msgspec.convert(reply["answer"], InterruptResponse)


Operation = Callable[[dict[str, Any], Client], Awaitable[dict[str, Any]]]


class SocketDoor:
    """Answers requests by the operation that they name."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request of a connection. A client that disconnects cancels its question."""
        try:
            line = await reader.readline()
            if line:
                await self._converse(line, Client(reader, writer))
                await writer.drain()
        except ConnectionError:
            log.info("door.client_gone")
        finally:
            writer.close()
            with suppress(ConnectionError):  # the client was faster
                await writer.wait_closed()

    async def _converse(self, line: bytes, client: Client) -> None:
        answering = asyncio.ensure_future(self._result(line, client))
        hung_up = asyncio.ensure_future(client.until_gone())
        await asyncio.wait({answering, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        hung_up.cancel()
        await asyncio.gather(hung_up, return_exceptions=True)
        if not answering.done():
            answering.cancel()
            await asyncio.wait({answering})
            return
        client.tell(answering.result())

    async def _result(self, line: bytes, client: Client) -> dict[str, Any]:
        try:
            request = json.loads(line)
            operation = self._operations.get(request["op"])
            if operation is None:
                known = ", ".join(self._operations)
                raise InputError(f"no operation is named {request['op']!r}; there are {known}")
            return await operation(request, client)
        except JeevesError as error:
            return {"error": error_to_wire(error)}
        except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError) as error:
            return {"error": error_to_wire(InputError(f"not a request of this door: {error}"))}
        except Exception as error:
            log.exception("door.failed")
            return {"error": error_to_wire(error)}
