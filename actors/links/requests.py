"""Calls methods of an actor over a link: request and result are a frame each.

A frame is MessagePack: [number, method, arguments] of a request; [number, True, result] or [number, False, error].
[number, "", []] cancels the request of that number, which then has no result.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import msgspec

from actors.links.link import Link, OnFrames
from runtime.bus.link_messages import Hello
from runtime.bus.queries import error_from_wire, error_to_wire
from runtime.errors import LinkLostError, OverloadedError, UnknownNameError, WireError
from runtime.primitives.background_tasks import spawn

MAX_UNDER_WAY = 4_096
CANCEL = ""
RETRY_AFTER_S = 1.0

log = logging.getLogger(__name__)

Method = Callable[..., Awaitable[Any]]
Number = int

_ENCODER = msgspec.msgpack.Encoder()
_REQUEST = msgspec.msgpack.Decoder(tuple[Number, str, list[Any]])
_RESULT = msgspec.msgpack.Decoder(tuple[Number, bool, Any])


def _forget(under_way: dict[Number, asyncio.Task[Any]], number: Number, _ended: asyncio.Task[Any]) -> None:
    under_way.pop(number, None)


class RequestServer:
    """Answers requests of all links that it serves. `methods`: name → coroutine function, of plain data."""

    def __init__(self, methods: Mapping[str, Method], max_under_way: int = MAX_UNDER_WAY) -> None:
        self._methods = methods
        self._max_under_way = max_under_way
        self._tasks: set[asyncio.Task[Any]] = set()

    def admit(self, link: Link, _hello: Hello) -> OnFrames:
        """Serve whoever knows the secret of its door."""
        return self.serve(link)

    def serve(self, link: Link) -> OnFrames:
        """Return what takes the requests of one link."""

        under_way: dict[Number, asyncio.Task[Any]] = {}

        def take(frames: list[bytes]) -> bytes:
            for frame in frames:
                number, method, arguments = _decoded(_REQUEST, frame)
                if method != CANCEL:
                    under_way[number] = task = spawn(self._tasks, self._answer(link, number, method, arguments))
                    task.add_done_callback(partial(_forget, under_way, number))
                elif number in under_way:
                    under_way[number].cancel()
            return b""

        return take

    async def _answer(self, link: Link, number: Number, method: str, arguments: list[Any]) -> None:
        try:
            result: tuple[Number, bool, Any] = (number, True, await self._called(method, arguments))
            answer = _ENCODER.encode(result)
        except Exception as error:  # noqa: BLE001 - it is raised where the request came from
            answer = _ENCODER.encode((number, False, error_to_wire(error)))
        try:
            try:
                await link.tell(answer)
            except WireError as error:
                await link.tell(_ENCODER.encode((number, False, error_to_wire(error))))
        except LinkLostError:
            log.debug("request.unanswered", extra={"method": method})  # who asked is gone, or asks again by a Ray call

    async def _called(self, method: str, arguments: list[Any]) -> Any:
        if len(self._tasks) > self._max_under_way:
            told = f"{self._max_under_way} requests are under way; no more are taken"
            raise OverloadedError(told, retry_after_s=RETRY_AFTER_S)
        called = self._methods.get(method)
        if called is None:
            raise UnknownNameError(f"no request is called {method[:100]!r}", name=method[:100])
        return await called(*arguments)


class RequestClient:
    """Makes requests over one link, once `use` has been called."""

    def __init__(self) -> None:
        self._link: Link | None = None
        self._numbers = count(1)
        self._waiting: dict[Number, asyncio.Future[Any]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._cancelling: set[asyncio.Task[Any]] = set()

    @property
    def is_open(self) -> bool:
        """True while requests can be made."""
        return self._link is not None and self._link.is_open

    def use(self, link: Link) -> None:
        """Make requests over this link, whose frames `take` gets."""
        self._link = link
        self._watching = asyncio.get_running_loop().create_task(self._fail_when_closed(link))

    def take(self, frames: list[bytes]) -> bytes:
        """Take results."""
        for frame in frames:
            number, succeeded, value = _decoded(_RESULT, frame)
            waiting = self._waiting.pop(number, None)
            if waiting is None or waiting.done():
                continue
            if succeeded:
                waiting.set_result(value)
            else:
                waiting.set_exception(error_from_wire(value))
        return b""

    async def ask(self, method: str, arguments: Sequence[Any], *, cancels: bool = False) -> Any:
        """Return the result of a method. Raises its error, and LinkLostError if it may or may not have been called.

        `cancels`: a request whose caller is cancelled is cancelled where it is carried out, too.
        """
        if self._link is None:
            raise LinkLostError("the link to the peer is closed")
        number = next(self._numbers)
        self._waiting[number] = waiting = asyncio.get_running_loop().create_future()
        waiting.add_done_callback(_seen)
        try:
            await self._link.tell(_ENCODER.encode((number, method, arguments)))
            return await waiting
        except asyncio.CancelledError:
            if cancels:
                spawn(self._cancelling, self._cancel(self._link, number))
            raise
        finally:
            self._waiting.pop(number, None)

    async def _cancel(self, link: Link, number: Number) -> None:
        try:
            await link.tell(_ENCODER.encode((number, CANCEL, ())))
        except LinkLostError:
            log.debug("request.not_cancelled", extra={"number": number})  # it goes on unheard, bounded by its own time

    def close(self) -> None:
        """Close the link; requests under way fail."""
        if self._link is not None:
            self._link.close()

    async def _fail_when_closed(self, link: Link) -> None:
        """Fail the requests under way once the link is closed; close it with the event loop."""
        try:
            await link.closed.wait()
        finally:
            link.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LinkLostError("the link broke before the result was here"))


def _seen(waiting: asyncio.Future[Any]) -> None:
    """Mark the error of a request as seen: where the link broke while it was sent, that is raised instead."""
    if not waiting.cancelled():
        waiting.exception()


def _decoded(decoder: msgspec.msgpack.Decoder[Any], frame: bytes) -> Any:
    try:
        return decoder.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"a request or result of {len(frame)} bytes is unreadable: {error}") from error
