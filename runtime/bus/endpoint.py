"""Connects one participant to the bus: sends commands and events, asks queries, answers requests.

It knows frames and a `Transport`, nothing of Ray. A query is a request frame whose reply is awaited here, in the
asker's process; the bus itself never waits. Frames sent while another is handled carry that frame's trace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from runtime.bus.builtin_middleware import Deduplication
from runtime.bus.frames import BUS, Frame, Header, Kind, SendOutcome, pack_body
from runtime.bus.middleware import Chain, Middleware
from runtime.bus.pending_queries import PendingQueries
from runtime.bus.queries import DEFAULT_QUERY_TIMEOUT_S, QueryHandler
from runtime.bus.request_handlers import OnFrame, RequestHandlers
from runtime.bus.sender import RetryRules, Sender, Transport
from runtime.bus.tracing import current_trace
from runtime.errors import DuplicateHandlerError, HandlerLostError
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, MessageId, RunId, new_message_id

Handler = TypeVar("Handler")

REMEMBERED_MESSAGES = 5_000

# Otherwise a query that kills its handler would do so until its timeout; stages have the same limit.
MAX_ASKED_AGAIN = 3

Undo = Callable[[], Awaitable[None]]


class Endpoint:
    """Represents an address on the bus.

    `queries`: type → handler of queries. `frames`: type → handler of commands sent to this address, and of events where
    `subscribes` names the type. `middleware` sees the requests that are handled here, after copies have been dropped.
    """

    def __init__(
        self,
        address: Address,
        transport: Transport,
        clock: Clock,
        queries: Mapping[str, QueryHandler] | None = None,
        frames: Mapping[str, OnFrame] | None = None,
        subscribes: tuple[str, ...] = (),
        middleware: Iterable[Middleware] = (),
        retry: RetryRules | None = None,
    ) -> None:
        self.address = address
        self._transport = transport
        self._clock = clock
        self._sender = Sender(transport, clock, self.bind, retry)
        self._pending = PendingQueries(self._sender, clock)
        self._chain = Chain([Deduplication(REMEMBERED_MESSAGES), *middleware])
        self._handlers = RequestHandlers(address, clock, self._sender.send, self._chain)
        self._handlers.queries.update(queries or {})
        self._handlers.commands.update(frames or {})
        self._handlers.subscribers.update({type_: [self._handlers.commands[type_]] for type_ in subscribes})
        self._handled: set[str] = set()

    def bind(self) -> None:
        """Register with the bus, or again after its restart; unanswered queries are resent."""
        handles = tuple(dict.fromkeys([*self._handlers.queries, *self._handled]))
        self._transport.bind(self.address, handles, tuple(self._handlers.subscribers))
        self._pending.send_again()

    async def close(self) -> None:
        """Cancel all work: pending queries of both sides fail with QueryCancelledError."""
        self._pending.close()
        await self._handlers.close()

    async def command(
        self,
        target: Address,
        type_: str,
        body: bytes,
        run_id: RunId | None = None,
        about: MessageId | None = None,
        epoch: int = 0,
    ) -> SendOutcome:
        """Send a command to one address; return whether the bus took it.

        `about` is the message that it repeats or acknowledges, `epoch` that of the owner on whose behalf it is sent;
        they become the frame's correlation id and incarnation.
        """
        return await self._sender.send(self._frame("command", type_, body, target, run_id, about=about, epoch=epoch))

    async def send(self, type_: str, body: bytes, run_id: RunId | None = None) -> SendOutcome:
        """Send a command to the handler of its type; without one it is `refused` and becomes a dead letter."""
        return await self._sender.send(self._frame("command", type_, body, None, run_id))

    async def publish(self, type_: str, body: bytes, run_id: RunId | None = None) -> SendOutcome:
        """Send an event to all subscribers of `type_`, without waiting for any of them."""
        return await self._sender.send(self._frame("event", type_, body, None, run_id))

    async def query(
        self, type_: str, body: dict[str, Any], timeout_s: float = DEFAULT_QUERY_TIMEOUT_S
    ) -> dict[str, Any]:
        """Return the answer of the handler of `type_`.

        A handler whose process dies is asked again when it is back, as long as there is time, and three times at most:
        it may receive the query more than once.

        Raises NoHandlerError, QueryTimeoutError, QueryCancelledError, MessageStoppedError, HandlerLostError (with
        `deaths` when the query was given up because of them), or the handler's error. A task that is cancelled while it
        waits cancels the query.
        """
        gives_up_s, left_s, deaths = self._clock.monotonic_s() + timeout_s, timeout_s, 0
        while True:
            try:
                return await self._pending.ask(self._frame("query", type_, pack_body(body), None, None, left_s), left_s)
            except HandlerLostError as error:
                if "deaths" in error.values:
                    raise  # the handler gave up a query of its own
                deaths += 1
                if deaths > MAX_ASKED_AGAIN:
                    raise HandlerLostError(
                        f"the handler of '{type_}' died {deaths} times while handling it; it is not asked again",
                        type=type_,
                        deaths=deaths,
                    ) from error
                left_s = gives_up_s - self._clock.monotonic_s()
                if left_s <= 0:
                    raise

    async def register_handler(self, type_: str, handler: QueryHandler) -> None:
        """Answer queries of that type from now on. Raises DuplicateHandlerError when it has a handler anywhere."""
        await self._register(self._handlers.queries, type_, handler)

    async def register_command(self, type_: str, handler: OnFrame) -> None:
        """Handle commands of that type, whatever their target. Raises DuplicateHandlerError as above."""
        await self._register(self._handlers.commands, type_, handler)
        self._handled.add(type_)

    async def deregister(self, type_: str) -> None:
        """Stop handling queries and commands of that type."""
        self._handled.discard(type_)
        self._handlers.queries.pop(type_, None)
        self._handlers.commands.pop(type_, None)
        await self._ask_bus("bus.deregister_handler", type_)

    async def subscribe(self, type_: str, handler: OnFrame) -> Undo:
        """Call `handler` with every event of that type; return a function that undoes it, safe to repeat."""
        self._handlers.subscribers.setdefault(type_, []).append(handler)
        await self._ask_bus("bus.subscribe", type_)

        async def undo() -> None:
            await self.unsubscribe(type_, handler)

        return undo

    async def unsubscribe(self, type_: str, handler: OnFrame) -> None:
        """Stop calling `handler` for events of that type; other handlers of the type stay."""
        handlers = self._handlers.subscribers.get(type_, [])
        if handler not in handlers:
            return
        handlers.remove(handler)
        if not handlers:
            del self._handlers.subscribers[type_]
            await self._ask_bus("bus.unsubscribe", type_)

    def add_middleware(self, middleware: Middleware) -> None:
        """Append a middleware to the chain of this endpoint."""
        self._chain.add(middleware)

    async def has_handler(self, type_: str) -> bool:
        """Return True when an endpoint on the bus handles that type."""
        return bool((await self._ask_bus("bus.has_handler", type_))["has_handler"])

    async def subscribers(self, type_: str) -> list[Address]:
        """Return the addresses that receive events of that type."""
        return [Address(address) for address in (await self._ask_bus("bus.subscribers", type_))["subscribers"]]

    async def handler_types(self) -> list[str]:
        """Return the types that have a handler on the bus."""
        return list((await self._ask_bus("bus.handler_types"))["handler_types"])

    async def bus_stats(self) -> dict[str, Any]:
        """Return the bus's counters and tables, its latest dead letters, and its middleware's statistics."""
        return await self._ask_bus("bus.stats")

    def on_frame(self, frame: Frame) -> None:
        """Take a frame from the bus and return at once; the work is done in a task of its own."""
        if frame.header.kind == "reply":
            self._pending.take_reply(frame)
        elif frame.header.kind == "cancel":
            self._handlers.cancel(frame.header.correlation_id)
        else:
            self._handlers.handle(frame)

    async def _ask_bus(self, type_: str, about: str = "") -> dict[str, Any]:
        body = pack_body({"type": about})
        frame = self._frame("query", type_, body, BUS, None, DEFAULT_QUERY_TIMEOUT_S)
        return await self._pending.ask(frame, DEFAULT_QUERY_TIMEOUT_S)

    async def _register(self, handlers: dict[str, Handler], type_: str, handler: Handler) -> None:
        if type_ in self._handlers.queries or type_ in self._handlers.commands:
            raise DuplicateHandlerError(f"{self.address} handles '{type_}' already", type=type_)
        handlers[type_] = handler
        try:
            await self._ask_bus("bus.register_handler", type_)
        except BaseException:
            del handlers[type_]
            raise

    def _frame(
        self,
        kind: Kind,
        type_: str,
        body: bytes,
        target: Address | None,
        run_id: RunId | None,
        timeout_s: float | None = None,
        about: MessageId | None = None,
        epoch: int = 0,
    ) -> Frame:
        message_id = new_message_id()
        trace = current_trace()
        header = Header(
            message_id=message_id,
            kind=kind,
            type=type_,
            source=self.address,
            target=target,
            correlation_id=about,
            run_id=run_id or trace.run_id,
            deadline_ms=None if timeout_s is None else self._clock.now_ms() + int(timeout_s * 1000),
            trace_id=trace.trace_id or message_id,
            parent_id=trace.parent_id,
            incarnation=epoch,
        )
        return Frame(header, body)
