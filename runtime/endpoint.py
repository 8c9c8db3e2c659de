"""One participant on the bus: sends commands and events, asks queries, and answers what reaches it.

It knows frames and a `Transport`, nothing of Ray. A query is a request frame whose reply is awaited here, in the
asker's process: the bus itself waits for nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from runtime.clock import Clock
from runtime.errors import BusError, JeevesError, NoHandlerError, QueryTimeoutError
from runtime.ids import Address, MessageId, RunId, new_message_id
from runtime.messages import Frame, Header, Kind, SendOutcome, pack_body, reply_to, unpack_body
from runtime.ports import DEFAULT_QUERY_TIMEOUT_S, QueryHandler, error_from_wire, error_to_wire

log = logging.getLogger(__name__)

OnFrame = Callable[[Frame], Awaitable[None]]


class Transport(Protocol):
    """Carries frames between an endpoint and the bus."""

    def bind(self, address: Address, handles: tuple[str, ...], subscribes: tuple[str, ...]) -> None:
        """Make the endpoint known to the bus under `address`."""

    async def send(self, frame: Frame) -> SendOutcome:
        """Hand a frame to the bus; says whether the bus took it."""


class Endpoint:
    """An address on the bus. `queries`: type → handler of queries; `frames`: type → handler of commands and events."""

    def __init__(
        self,
        address: Address,
        transport: Transport,
        clock: Clock,
        queries: Mapping[str, QueryHandler] | None = None,
        frames: Mapping[str, OnFrame] | None = None,
        subscribes: tuple[str, ...] = (),
    ) -> None:
        self.address = address
        self._transport = transport
        self._clock = clock
        self._queries = dict(queries or {})
        self._frames = dict(frames or {})
        self._subscribes = subscribes
        self._waiting: dict[MessageId, asyncio.Future[Frame]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def bind(self) -> None:
        """Appear on the bus."""
        self._transport.bind(self.address, tuple(self._queries), self._subscribes)

    async def command(self, target: Address, type_: str, body: bytes, run_id: RunId | None = None) -> SendOutcome:
        """Send a command to one address; says whether it is on its way."""
        return await self._transport.send(self._frame("command", type_, body, target, run_id))

    async def publish(self, type_: str, body: bytes, run_id: RunId | None = None) -> SendOutcome:
        """Tell all subscribers of `type_`; nobody is waited for."""
        return await self._transport.send(self._frame("event", type_, body, None, run_id))

    async def query(
        self, type_: str, body: dict[str, Any], timeout_s: float = DEFAULT_QUERY_TIMEOUT_S
    ) -> dict[str, Any]:
        """The answer of whoever handles `type_`. Raises NoHandlerError, QueryTimeoutError, or the handler's error."""
        frame = self._frame("query", type_, pack_body(body), None, None, timeout_s)
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[frame.header.message_id] = future
        try:
            outcome = await self._transport.send(frame)
            if outcome == "unreachable":
                raise NoHandlerError(f"nobody handles '{type_}'", type=type_)
            if outcome == "full":
                raise BusError(f"the bus is full; '{type_}' was not sent", type=type_)
            reply = await asyncio.wait_for(future, timeout_s)
        except TimeoutError as error:
            raise QueryTimeoutError(
                f"no answer to '{type_}' within {timeout_s:g} s", type=type_, timeout_s=timeout_s
            ) from error
        finally:
            self._waiting.pop(frame.header.message_id, None)
        answer = unpack_body(reply.body)
        if reply.header.failed:
            raise error_from_wire(answer)
        return answer

    def on_frame(self, frame: Frame) -> None:
        """Take a frame from the bus; the work is done in a task of its own, so this returns at once."""
        header = frame.header
        if header.kind == "reply":
            waiting = self._waiting.get(header.correlation_id) if header.correlation_id else None
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)
            return
        task = asyncio.create_task(self._serve(frame))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, frame: Frame) -> None:
        header = frame.header
        if header.kind == "query":
            await self._answer(frame)
            return
        handler = self._frames.get(header.type)
        if handler is None:
            log.warning("frame.unhandled", extra={"type": header.type, "address": self.address})
            return
        try:
            await handler(frame)
        except Exception:
            log.exception("frame.failed", extra={"type": header.type, "run_id": header.run_id, "address": self.address})

    async def _answer(self, frame: Frame) -> None:
        try:
            handler = self._queries.get(frame.header.type)
            if handler is None:
                raise NoHandlerError(f"{self.address} does not handle '{frame.header.type}'", type=frame.header.type)
            reply = reply_to(frame.header, self.address, pack_body(await handler(unpack_body(frame.body))))
        except JeevesError as error:
            reply = self._failure(frame, error)
        except Exception as error:
            log.exception("query.failed", extra={"type": frame.header.type, "address": self.address})
            reply = self._failure(frame, error)
        await self._transport.send(reply)

    def _failure(self, query: Frame, error: Exception) -> Frame:
        return reply_to(query.header, self.address, pack_body(error_to_wire(error)), failed=True)

    def _frame(
        self,
        kind: Kind,
        type_: str,
        body: bytes,
        target: Address | None,
        run_id: RunId | None,
        timeout_s: float | None = None,
    ) -> Frame:
        deadline_ms = None if timeout_s is None else self._clock.now_ms() + int(timeout_s * 1000)
        header = Header(new_message_id(), kind, type_, self.address, target, run_id=run_id, deadline_ms=deadline_ms)
        return Frame(header, body)
