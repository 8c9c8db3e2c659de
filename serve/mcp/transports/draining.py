"""Ends the requests of MCP clients that are under way when the server stops, with an error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_types import INTERNAL_ERROR
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.http.documents.problems import RefusedError
from serve.mcp.transports.request_ids import request_id_of

SEEN_BYTES = 4_096
GIVEN_UP_WITHIN_S = 1.0
TOLD = "the server is shutting down, and gave this call up; send it again when the server is up"


class Draining:
    """Wraps the application; once `closing` is set, what is not answered is ended with an error.

    A call whose answer has begun as an event stream gets a JSON-RPC error as its last event, any other one a 503. The
    streams on which clients wait for news just end.
    """

    def __init__(self, app: ASGIApp, closing: asyncio.Event) -> None:
        self._app = app
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(receive, send)
        handling = asyncio.ensure_future(self._app(scope, exchange.receive, exchange.send))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({handling, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            is_given_up = not handling.done()
            if is_given_up:
                exchange.is_given_up = True
                handling.cancel()
                await asyncio.wait({handling}, timeout=GIVEN_UP_WITHIN_S)
        if is_given_up:
            await exchange.end(scope)
        else:
            handling.result()


class _Exchange:
    """Passes a request and its answer on, and remembers what is needed to end it."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._head, self._tail = bytearray(), bytearray()
        self._has_begun = self._is_complete = self._is_stream = False
        self.is_given_up = False

    async def receive(self) -> Message:
        message = await self._receive()
        body = message.get("body", b"") if message["type"] == "http.request" else b""
        self._head.extend(body[: SEEN_BYTES - len(self._head)])
        self._tail.extend(body[-SEEN_BYTES:])
        del self._tail[:-SEEN_BYTES]
        return message

    async def send(self, message: Message) -> None:
        if self.is_given_up:
            return
        if message["type"] == "http.response.start":
            self._has_begun = True
            self._is_stream = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
        elif not message.get("more_body", False):
            self._is_complete = True
        await self._send(message)

    async def end(self, scope: Scope) -> None:
        """Send what ends the answer, unless it is complete."""
        if not self._has_begun:
            headers = {"connection": "close", "retry-after": "5"}
            await RefusedError(503, "shutting_down", TOLD, headers).response()(scope, self._receive, self._send)
        elif not self._is_complete:
            await self._send({"type": "http.response.body", "body": self._last_event()})

    def _last_event(self) -> bytes:
        request_id = request_id_of(bytes(self._head), bytes(self._tail))
        if not self._is_stream or request_id is None:
            return b""
        error: dict[str, Any] = {"code": INTERNAL_ERROR, "message": TOLD}
        answer = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
        return f"event: message\ndata: {answer}\n\n".encode()
