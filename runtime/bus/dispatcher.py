"""Dispatches frames: runs middleware, routes, tracks pending queries, answers queries about the bus.

`Dispatcher` decides and waits for nothing; its host hands over what `dispatch` returns. A frame leaves as the bytes
that it came in, unless a middleware changed its header. Bodies are decoded only where the bus itself is addressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from runtime.bus.frames import (
    BUS,
    Frame,
    Header,
    decode_frame,
    decode_header,
    encode_frame,
    pack_body,
    reply_to,
    reported_request,
    unpack_body,
)
from runtime.bus.middleware import Chain, Halted, Middleware, Outcome
from runtime.bus.queries import class_of_code, error_code, error_to_wire
from runtime.bus.routing_table import MAX_DEATHS_PER_FRAME, NOWHERE, Routing, RoutingTable
from runtime.errors import (
    HandlerLostError,
    InputError,
    JeevesError,
    NoHandlerError,
    QueryCancelledError,
    QueryTimeoutError,
)
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, MessageId

MAX_PENDING_QUERIES = 10_000
SWEEP_EVERY_MS = 5_000
OVERDUE_MS = 10_000
WITHOUT_DEADLINE_MS = 3_600_000

Delivery = tuple[Address, bytes]
BusQuery = Callable[[Address, str], dict[str, Any]]

# The outcome of a query by the error of its failed reply; other errors mean that it failed.
_ENDINGS_OF_ERRORS: tuple[tuple[type[JeevesError], Outcome], ...] = (
    (InputError, "rejected"),
    (NoHandlerError, "refused"),
    (QueryCancelledError, "cancelled"),
    (QueryTimeoutError, "timeout"),
)


class DispatchResult(msgspec.Struct, frozen=True):
    """Holds the outcome for the sender, the frames to deliver, and the reason why a frame was not accepted."""

    outcome: Literal["accepted", "refused", "full"]
    deliver: tuple[Delivery, ...] = ()
    why: str | None = None


class _PendingQuery(msgspec.Struct, frozen=True):
    header: Header
    holder: Address
    overdue_ms: int


class Dispatcher:
    """Runs one bus without its transport."""

    def __init__(self, table: RoutingTable, chain: Chain, clock: Clock) -> None:
        self._table = table
        self._chain = chain
        self._clock = clock
        self._queries: dict[MessageId, _PendingQuery] = {}
        self._next_sweep_ms = 0
        self._bus_queries: dict[str, BusQuery] = {
            "bus.subscribe": self._subscribe,
            "bus.unsubscribe": self._unsubscribe,
            "bus.register_handler": self._register_handler,
            "bus.deregister_handler": self._deregister_handler,
            "bus.has_handler": lambda _source, type_: {"has_handler": table.has_handler(type_)},
            "bus.subscribers": lambda _source, type_: {"subscribers": list(table.subscribers(type_))},
            "bus.handler_types": lambda _source, _type: {"handler_types": table.handler_types},
            "bus.stats": lambda _source, _type: self.stats(),
        }

    def dispatch(self, data: bytes) -> DispatchResult:
        """Decide on one frame. Raises WireError for bytes that are no frame."""
        header, body_at = decode_header(data)
        if header.kind == "reply":
            return (
                self._handler_failed(decode_frame(data)) if header.target == BUS else self._dispatch_reply(header, data)
            )
        if header.kind == "cancel":
            return self._dispatch_cancel(header, data)
        passed = self._chain.before(header)
        if isinstance(passed, Halted):
            return self._dispatch_halted(header, passed)
        if passed.target == BUS:
            return self._answer_bus_query(Frame(passed, data[body_at:]))
        return self._dispatch_request(passed, data if passed is header else encode_frame(Frame(passed, data[body_at:])))

    def mark_lost(self, address: Address, incarnation: int, for_good: bool) -> tuple[bool, tuple[Delivery, ...]]:
        """Record that a process died; return whether that is news, and the failures of its unanswered queries."""
        if not self._table.mark_lost(address, incarnation, for_good):
            return False, ()
        return True, self._fail_orphaned(address, frozenset()) if for_good else ()

    def on_replaced(self, address: Address, parked: Iterable[bytes]) -> tuple[Delivery, ...]:
        """Return the failures of queries held by a replaced process; its successor still gets the `parked` ones."""
        return self._fail_orphaned(address, frozenset(decode_header(data)[0].message_id for data in parked))

    def _fail_orphaned(self, address: Address, spared: frozenset[MessageId]) -> tuple[Delivery, ...]:
        held = [query.header for query in self._queries.values() if query.holder == address]
        failures: list[Delivery] = []
        types: set[str] = set()
        for query in held:
            if query.message_id not in spared:
                # One death counts as one failure, however many queries it took with it.
                self._end(query.message_id, "cancelled" if query.type in types else "failed")
                types.add(query.type)
                error = HandlerLostError(f"{address} died while handling '{query.type}'", type=query.type)
                failures += self._fail(query, error)
        return tuple(failures)

    def requeue(self, address: Address, data: bytes, incarnation: int) -> tuple[bool, tuple[Delivery, ...]]:
        """Take back a frame that could not be delivered; return whether to retry, and the failure of a query given up.

        `incarnation` is the one that the frame was sent to. A query whose asker already got the news that its handler
        died is dropped: it is asked again under another id.
        """
        header = decode_header(data)[0]
        if header.kind == "query" and header.message_id not in self._queries:
            self._table.settled(address, data)
            return False, ()
        outcome = self._table.requeue(address, data, incarnation)
        if outcome not in {"refused", "poison"} or self._end(header.message_id, "failed") is None:
            return outcome == "retry", ()
        deaths = {"deaths": MAX_DEATHS_PER_FRAME} if outcome == "poison" else {}
        error = HandlerLostError(f"'{header.type}' could not be handed to {address}", type=header.type, **deaths)
        return False, self._fail(header, error)

    def add_middleware(self, middleware: Middleware) -> None:
        """Append a middleware to the chain."""
        self._chain.add(middleware)

    def stats(self) -> dict[str, Any]:
        """Return counters, tables, the latest dead letters and the middleware's statistics, in plain data."""
        letters = [_dead_letter_fields(letter.header, letter.reason) for letter in self._table.dead_letters]
        own = {"queries_under_way": len(self._queries), "latest_dead_letters": letters}
        return self._table.stats() | own | {"middleware": self._chain.stats()}

    def _dispatch_request(self, header: Header, data: bytes) -> DispatchResult:
        if header.kind == "query" and not self._has_room():
            self._chain.after(header, "full")
            return DispatchResult("full", why=f"{len(self._queries)} queries are pending already")
        routing = self._table.route(header)
        taken = self._deliver_or_park(header, routing, data)
        if header.kind == "query" and taken.outcome == "accepted":
            expires_ms = header.deadline_ms or self._clock.now_ms() + WITHOUT_DEADLINE_MS
            holder = (routing.deliver + routing.park)[0]
            self._queries[header.message_id] = _PendingQuery(header, holder, expires_ms + OVERDUE_MS)
        else:
            self._chain.after(header, "dropped" if routing == NOWHERE else taken.outcome)
        return taken

    def _deliver_or_park(self, header: Header, routing: Routing, data: bytes) -> DispatchResult:
        if routing.refused is not None:
            return DispatchResult("refused", why=routing.refused)
        kept = [self._table.park(address, data) for address in routing.park]
        if header.kind != "event" and not all(kept):
            return DispatchResult("full", why=f"too many frames wait for {routing.park[0]}")
        return DispatchResult("accepted", tuple((address, data) for address in routing.deliver))

    def _dispatch_reply(self, reply: Header, data: bytes) -> DispatchResult:
        self._end(reply.correlation_id, _outcome_of_reply(reply))
        return self._deliver_or_park(reply, self._table.route(reply), data)

    def _dispatch_cancel(self, cancel: Header, data: bytes) -> DispatchResult:
        query = self._end(cancel.correlation_id, "timeout" if cancel.reason == "timeout" else "cancelled")
        if query is not None:
            cancel = msgspec.structs.replace(cancel, target=query.holder)
        return self._deliver_or_park(cancel, self._table.route(cancel), data)

    def _handler_failed(self, report: Frame) -> DispatchResult:
        request = reported_request(report)
        self._table.counts["handler_failed"] += 1
        if request.kind == "command":
            self._table.add_dead_letter(request, report.header.reason or "its handler failed")
        self._chain.after(request, "failed")
        return DispatchResult("accepted")

    def _dispatch_halted(self, header: Header, halted: Halted) -> DispatchResult:
        if halted.error is None:
            self._table.counts["doubled"] += 1
            return DispatchResult("accepted")
        self._table.counts["stopped"] += 1
        if header.kind == "query":
            return DispatchResult("accepted", self._fail(header, halted.error))
        if header.kind == "command":
            self._table.add_dead_letter(header, halted.error.message)
        return DispatchResult("refused", why=halted.error.message)

    def _answer_bus_query(self, frame: Frame) -> DispatchResult:
        header = frame.header
        bus_query = self._bus_queries.get(header.type)
        if header.kind != "query" or bus_query is None:
            refusal = NoHandlerError(f"the bus does not handle the {header.kind} '{header.type}'", type=header.type)
            self._table.add_dead_letter(header, refusal.message)
            self._chain.after(header, "refused")
            return DispatchResult("refused", why=refusal.message)
        try:
            answer = bus_query(header.source, str(unpack_body(frame.body).get("type", "")))
        except JeevesError as error:
            self._chain.after(header, "rejected")
            return DispatchResult("accepted", self._fail(header, error))
        self._chain.after(header, "answered")
        return DispatchResult("accepted", self._reply(reply_to(header, BUS, pack_body(answer))))

    def _fail(self, query: Header, error: JeevesError) -> tuple[Delivery, ...]:
        return self._reply(reply_to(query, BUS, pack_body(error_to_wire(error)), True, error_code(error)))

    def _reply(self, reply: Frame) -> tuple[Delivery, ...]:
        return self._deliver_or_park(reply.header, self._table.route(reply.header), encode_frame(reply)).deliver

    def _end(self, query_id: MessageId | None, outcome: Outcome) -> _PendingQuery | None:
        query = self._queries.pop(query_id, None) if query_id else None
        if query is not None:
            self._chain.after(query.header, outcome)
        return query

    def _has_room(self) -> bool:
        """Drop overdue queries, whose askers are gone; return True when there is room for one more."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._next_sweep_ms:
            self._next_sweep_ms = now_ms + SWEEP_EVERY_MS
            for query_id in [key for key, query in self._queries.items() if query.overdue_ms <= now_ms]:
                self._end(query_id, "timeout")
        return len(self._queries) < MAX_PENDING_QUERIES

    def _subscribe(self, source: Address, type_: str) -> dict[str, Any]:
        self._table.subscribe(source, type_)
        return {}

    def _unsubscribe(self, source: Address, type_: str) -> dict[str, Any]:
        self._table.unsubscribe(source, type_)
        return {}

    def _register_handler(self, source: Address, type_: str) -> dict[str, Any]:
        self._table.register_handler(source, type_)
        return {}

    def _deregister_handler(self, source: Address, type_: str) -> dict[str, Any]:
        self._table.deregister_handler(source, type_)
        return {}


def _outcome_of_reply(reply: Header) -> Outcome:
    if not reply.failed:
        return "answered"
    kind = class_of_code(reply.reason or "")
    return next((outcome for error, outcome in _ENDINGS_OF_ERRORS if issubclass(kind, error)), "failed")


def _dead_letter_fields(header: Header, reason: str) -> dict[str, Any]:
    named = {name: getattr(header, name) for name in ("message_id", "kind", "type", "source", "target", "run_id")}
    return named | {"reason": reason}
