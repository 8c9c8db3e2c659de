"""Runs the handlers of an endpoint's requests, and sends replies and failure reports.

Each request is handled in a task of its own. A query always gets a reply, unless its asker has cancelled it. A command
or an event whose handler fails is reported to the bus, which keeps the dead letters.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from runtime.bus.frames import Frame, Header, SendOutcome, failure_report, pack_body, reply_to, unpack_body
from runtime.bus.middleware import Chain, Halted, Outcome
from runtime.bus.queries import QueryHandler, error_code, error_to_wire
from runtime.bus.tracing import continue_trace
from runtime.errors import JeevesError, NoHandlerError, QueryCancelledError, QueryTimeoutError
from runtime.primitives.clock import Clock, seconds
from runtime.primitives.ids import Address, MessageId

log = logging.getLogger(__name__)

OnFrame = Callable[[Frame], Awaitable[None]]


class RequestHandlers:
    """Holds handlers by message type, and their tasks in progress."""

    def __init__(
        self, address: Address, clock: Clock, send: Callable[[Frame], Awaitable[SendOutcome]], chain: Chain
    ) -> None:
        self._address = address
        self._clock = clock
        self._send = send
        self._chain = chain
        self._tasks: set[asyncio.Task[Outcome]] = set()
        self._answering: dict[MessageId, asyncio.Task[Outcome]] = {}
        self._cancelled: set[MessageId] = set()
        self._works: dict[str, Callable[[Frame], Coroutine[Any, Any, Outcome]]] = {
            "query": self._handle_query,
            "command": self._handle_command,
            "event": self._handle_event,
        }
        self.queries: dict[str, QueryHandler] = {}
        self.commands: dict[str, OnFrame] = {}
        self.subscribers: dict[str, list[OnFrame]] = {}

    def handle(self, frame: Frame) -> None:
        """Start work on a request and return at once."""
        passed = self._chain.before(frame.header)
        if isinstance(passed, Halted):
            if passed.error is not None:
                self._begin(frame.header, self._refuse(frame.header, passed.error), is_counted=False)
            return
        request = frame if passed is frame.header else Frame(passed, frame.body)
        self._begin(passed, self._works[passed.kind](request))

    def cancel(self, query_id: MessageId | None) -> None:
        """Cancel the work on a query; its asker no longer waits, so there is no reply."""
        task = self._answering.get(query_id) if query_id else None
        if task is not None and query_id is not None:
            self._cancelled.add(query_id)
            task.cancel()

    async def close(self) -> None:
        """Cancel all work; queries in progress are answered with QueryCancelledError."""
        await asyncio.sleep(0)  # lets requests taken a moment ago start, so that they are answered
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, header: Header, work: Coroutine[Any, Any, Outcome], is_counted: bool = True) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        if header.kind == "query":
            self._answering[header.message_id] = task

        def done(task: asyncio.Task[Outcome]) -> None:
            self._tasks.discard(task)
            self._answering.pop(header.message_id, None)
            self._cancelled.discard(header.message_id)
            outcome = self._outcome(header, task)
            if is_counted:
                self._chain.after(header, outcome)

        task.add_done_callback(done)

    def _outcome(self, header: Header, task: asyncio.Task[Outcome]) -> Outcome:
        if task.cancelled():
            return "cancelled"
        error = task.exception()
        if error is None:
            return task.result()
        log.error("frame.unfinished", exc_info=error, extra=self._fields(header))
        return "failed"

    async def _handle_query(self, frame: Frame) -> Outcome:
        header = frame.header
        continue_trace(header)
        try:
            body = pack_body(await self._result(frame))
        except asyncio.CancelledError:
            if header.message_id in self._cancelled:
                raise
            error = QueryCancelledError(f"{self._address} cancelled its work on '{header.type}'", type=header.type)
            await self._reply(header, error)
            return "cancelled"
        except JeevesError as error:
            await self._reply(header, error)
            return "timeout" if isinstance(error, QueryTimeoutError) else "failed"
        except Exception as error:
            log.exception("query.failed", extra={"type": header.type, "address": self._address})
            await self._reply(header, error)
            return "failed"
        await self._hand_back(reply_to(header, self._address, body))
        return "answered"

    async def _result(self, frame: Frame) -> dict[str, Any]:
        header = frame.header
        handler = self.queries.get(header.type)
        if handler is None:
            raise NoHandlerError(f"{self._address} does not handle '{header.type}'", type=header.type)
        now_ms = self._clock.now_ms()
        if header.deadline_ms is not None and now_ms >= header.deadline_ms:
            late = seconds(now_ms - header.deadline_ms)
            raise QueryTimeoutError(
                f"'{header.type}' reached {self._address} {late} after its deadline and was not started",
                type=header.type,
            )
        return await handler(unpack_body(frame.body))

    async def _handle_command(self, frame: Frame) -> Outcome:
        continue_trace(frame.header)
        handler = self.commands.get(frame.header.type)
        if handler is None:
            return await self._report_unhandled(frame.header)
        try:
            await handler(frame)
        except Exception as error:
            log.exception("frame.failed", extra=self._fields(frame.header))
            await self._report(frame.header, error)
            return "failed"
        return "accepted"

    async def _handle_event(self, frame: Frame) -> Outcome:
        continue_trace(frame.header)
        subscribers = self.subscribers.get(frame.header.type)
        if not subscribers:
            return await self._report_unhandled(frame.header)
        ends = await asyncio.gather(*(handler(frame) for handler in subscribers), return_exceptions=True)
        errors = [end for end in ends if isinstance(end, Exception)]
        for error in errors:
            log.error("frame.failed", exc_info=error, extra=self._fields(frame.header))
            await self._report(frame.header, error)
        return "failed" if errors else "accepted"

    async def _report_unhandled(self, header: Header) -> Outcome:
        log.warning("frame.unhandled", extra=self._fields(header))
        await self._report(header, NoHandlerError(f"{self._address} does not handle '{header.type}'"))
        return "refused"

    async def _refuse(self, header: Header, error: JeevesError) -> Outcome:
        await (self._reply(header, error) if header.kind == "query" else self._report(header, error))
        return "stopped"

    async def _reply(self, query: Header, error: Exception) -> None:
        body = pack_body(error_to_wire(error))
        await self._hand_back(reply_to(query, self._address, body, failed=True, reason=error_code(error)))

    async def _report(self, request: Header, error: Exception) -> None:
        await self._hand_back(failure_report(request, self._address, f"{type(error).__name__}: {error}"))

    async def _hand_back(self, frame: Frame) -> None:
        outcome = await self._send(frame)
        if outcome != "accepted":
            log.warning("reply.lost", extra=self._fields(frame.header) | {"outcome": outcome})

    def _fields(self, header: Header) -> dict[str, Any]:
        return {"type": header.type, "run_id": header.run_id, "address": self._address}
