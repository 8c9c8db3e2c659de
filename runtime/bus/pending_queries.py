"""Tracks an endpoint's unanswered queries; each waits for its reply until its timeout.

An asker that stops waiting sends a cancel frame, which distinguishes a timeout from a cancellation.
"""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import msgspec

from runtime.bus.frames import CancelReason, Frame, Header, SendOutcome, cancel_of, unpack_body
from runtime.bus.queries import error_from_wire
from runtime.bus.sender import Sender
from runtime.errors import BusError, NoHandlerError, QueryCancelledError, QueryTimeoutError
from runtime.primitives.background_tasks import spawn
from runtime.primitives.clock import Clock, wait_at_most
from runtime.primitives.ids import MessageId


class _Waiting(msgspec.Struct, frozen=True):
    frame: Frame
    reply: asyncio.Future[Frame]


class PendingQueries:
    """Holds the queries of one endpoint that have no answer yet."""

    def __init__(self, sender: Sender, clock: Clock) -> None:
        self._sender = sender
        self._clock = clock
        self._waiting: dict[MessageId, _Waiting] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def ask(self, query: Frame, timeout_s: float) -> dict[str, Any]:
        """Return the answer to a query. Raises BusErrors, and the error that a failed reply carries."""
        header = query.header
        waiting = _Waiting(query, asyncio.get_running_loop().create_future())
        self._waiting[header.message_id] = waiting
        try:
            reply = await wait_at_most(self._clock, timeout_s, self._exchange(waiting))
        except TimeoutError as error:
            self._cancel(header, "timeout")
            raise QueryTimeoutError(
                f"no answer to '{header.type}' within {timeout_s:g} s", type=header.type, timeout_s=timeout_s
            ) from error
        except (asyncio.CancelledError, QueryCancelledError):
            self._cancel(header, "cancelled")
            raise
        finally:
            self._waiting.pop(header.message_id, None)
        answer = unpack_body(reply.body)
        if reply.header.failed:
            raise error_from_wire(answer)
        return answer

    def take_reply(self, reply: Frame) -> None:
        """Pass a reply to its waiting query; ignore one that is late or a duplicate."""
        query_id = reply.header.correlation_id
        waiting = self._waiting.get(query_id) if query_id else None
        if waiting is not None and not waiting.reply.done():
            waiting.reply.set_result(reply)

    def send_again(self) -> None:
        """Resend every unanswered query to a bus that may have forgotten it; copies are dropped on the way."""
        for waiting in self._waiting.values():
            spawn(self._tasks, self._sender.send_once(waiting.frame))

    def close(self) -> None:
        """Fail every unanswered query with QueryCancelledError."""
        for query_id, waiting in self._waiting.items():
            if not waiting.reply.done():
                type_ = waiting.frame.header.type
                error = QueryCancelledError(f"'{type_}' was cancelled: its asker closed", type=type_, query=query_id)
                waiting.reply.set_exception(error)

    async def _exchange(self, waiting: _Waiting) -> Frame:
        outcome = await self._sender.send(waiting.frame)
        if outcome != "accepted" and not waiting.reply.done():
            _raise_unsent(waiting.frame.header.type, outcome)
        return await waiting.reply

    def _cancel(self, query: Header, reason: CancelReason) -> None:
        spawn(self._tasks, self._sender.send(cancel_of(query, reason)))


def _raise_unsent(type_: str, outcome: SendOutcome) -> NoReturn:
    if outcome == "refused":
        raise NoHandlerError(f"nobody handles '{type_}'", type=type_)
    if outcome == "full":
        raise BusError(f"the bus is full; '{type_}' was not sent", type=type_)
    raise BusError(f"the bus is not reachable; '{type_}' was not sent", type=type_)
