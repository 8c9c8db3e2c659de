"""Bounds the time of the body of a request, for an application that reads bodies by itself."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.http.connections.cancelling import cancel_until_done
from serve.http.documents.problems import RefusedError

GIVEN_UP_WITHIN_S = 1.0


def too_slow(here: int, length: int | None, limit_s: float) -> RefusedError:
    """Return the refusal of a request whose body was not there in time; its connection closes."""
    told = f"{here} bytes" if length is None else f"{here} of {length} bytes"
    detail = f"{told} of the body were here within {limit_s:g} s"
    return RefusedError(408, "too_slow", detail, {"connection": "close"})


class BodyTime:
    """Ends requests whose body is not there `limit_s` after the application began to read it, with 408."""

    def __init__(self, app: ASGIApp, limit_s: float) -> None:
        self._app = app
        self._limit_s = limit_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, send, self._limit_s)
        handling = asyncio.ensure_future(self._app(scope, body.receive, body.send))
        late = asyncio.ensure_future(body.late.wait())
        try:
            await asyncio.wait({handling, late}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
            if not handling.done():
                body.is_given_up = True
                await cancel_until_done(handling, GIVEN_UP_WITHIN_S)
        if not body.late.is_set():
            handling.result()
        elif not body.has_answer:
            await too_slow(body.here, _length_of(scope), self._limit_s).response()(scope, receive, send)
        else:
            await send({"type": "http.response.body", "body": b""})


class _Body:
    """Passes a body on while it comes in time, and the answer until the request is given up."""

    def __init__(self, receive: Receive, send: Send, limit_s: float) -> None:
        self._receive = receive
        self._send = send
        self._limit_s = limit_s
        self._until_s: float | None = None
        self._is_whole = False
        self.here = 0
        self.late = asyncio.Event()
        self.has_answer = self.is_given_up = False

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        if self._until_s is None:
            self._until_s = asyncio.get_running_loop().time() + self._limit_s
        try:
            async with asyncio.timeout_at(self._until_s):
                message = await self._receive()
        except TimeoutError:
            self.late.set()
            # Nothing that could be told to the application now would keep it from answering in its own words.
            await asyncio.Event().wait()
            raise
        self.here += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if not self.is_given_up:
            self.has_answer = True
            await self._send(message)


def _length_of(scope: Scope) -> int | None:
    told = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(told[0]) if told else None
