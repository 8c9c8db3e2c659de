"""Carries MCP messages over standard input and output, one JSON object per line.

Standard output carries nothing else: its descriptor is kept for the protocol, and whatever prints to it, in this
process or a child, reaches standard error. Lines are bounded. Input that is no message is answered with an error and
passed over. The end of the input ends the session, half a second later if requests are not answered yet. Two daemon
threads do the blocking reads and writes, so that neither a client that sends nothing nor one that reads nothing can
keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from serve.mcp.transports.lines import TooLong, bounded_lines
from serve.mcp.transports.request_ids import SEEN_BYTES, request_id_of

MAX_MESSAGE_BYTES = 4 * 2**20
# How long requests that were sent before the end of the input may still take.
GRACE_S = 0.5

_NO_ID = "the id of a request is a text or a whole number; send it again with one"
_TOO_DEEP = "this message is nested too deep: lists and objects within one another, at most some 190 levels are read"

log = logging.getLogger(__name__)

_Inbound = MemoryObjectReceiveStream[SessionMessage | Exception]
_Outbound = MemoryObjectSendStream[SessionMessage]


@contextlib.asynccontextmanager
async def stdio_streams() -> AsyncIterator[tuple[_Inbound, _Outbound]]:
    """Claim standard input and output, and yield the streams of their messages until the block ends."""
    with _claimed() as (stdin, stdout):
        inbound, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sending, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        writer = _Writer(stdout)
        loop = asyncio.get_running_loop()
        reading = threading.Thread(target=_read, args=(loop, stdin, inbound, writer), name="mcp-input", daemon=True)
        reading.start()
        writing = asyncio.create_task(_write(outbound, writer))
        try:
            yield received, sending
        finally:
            writing.cancel()
            await asyncio.wait({writing})
            for stream in (inbound, received, sending, outbound):
                stream.close()


@contextlib.contextmanager
def _claimed() -> Iterator[list[int]]:
    """Yield private descriptors of standard input and output, which stand for nothing and standard error meanwhile."""
    kept = [os.dup(0), os.dup(1)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield kept
    finally:
        os.close(nothing)
        for number, private in enumerate(kept):
            os.dup2(private, number)
            # Not closed: a thread may still wait on it, and must not come to wait on another file of that number.


def _read(loop: asyncio.AbstractEventLoop, fd: int, inbound: Any, writer: _Writer) -> None:
    """Pass on the messages of standard input, in a thread, until it ends."""
    try:
        for line in bounded_lines(lambda count: os.read(fd, count), MAX_MESSAGE_BYTES):
            message = _message(line)
            if isinstance(message, JSONRPCError):
                writer.write_from_thread(message)
            elif message is not None:
                writer.awaits(message.message)
                asyncio.run_coroutine_threadsafe(inbound.send(message), loop).result()
    except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        # The terminal is gone, or the server has ended already.
        log.info("mcp.input_ended", extra={"reason": str(error)})
    writer.finish(GRACE_S)
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(inbound.close)


def _message(line: bytes | TooLong) -> SessionMessage | JSONRPCError | None:
    if isinstance(line, TooLong):
        problem = f"the message has {line.size} bytes, at most {MAX_MESSAGE_BYTES} are taken"
        return _error(INVALID_REQUEST, problem, request_id_of(line.head, line.tail))
    if not line.strip():
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValidationError, ValueError):
        return _fault_of(line)
    # A request with an id that cannot be one is taken for a notification, which nobody answers.
    if isinstance(message, JSONRPCNotification) and from_json(line).get("id") is not None:
        return _error(INVALID_REQUEST, _NO_ID, None)
    return SessionMessage(message)


def _fault_of(line: bytes) -> JSONRPCError:
    request_id = request_id_of(line[:SEEN_BYTES], line[-SEEN_BYTES:])
    code, problem = INVALID_REQUEST, "this line is not a JSON-RPC 2.0 message"
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        code, problem = PARSE_ERROR, "this line is not JSON; send one JSON-RPC message per line, in UTF-8"
    return _error(code, _TOO_DEEP if _is_too_deep(line) else problem, request_id)


def _is_too_deep(line: bytes) -> bool:
    try:
        from_json(line)
    except ValueError as error:
        return "recursion limit" in str(error)
    return False


def _error(code: int, problem: str, request_id: RequestId | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=problem))


async def _write(outbound: MemoryObjectReceiveStream[SessionMessage], writer: _Writer) -> None:
    async with outbound:
        async for each in outbound:
            await writer.written(each.message)


class _Writer:
    """Writes messages in a thread of its own, one after another; after a failed write it drops them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: queue.SimpleQueue[tuple[Any, Callable[[], None]]] = queue.SimpleQueue()
        self._is_broken = False
        self._unanswered: set[RequestId] = set()
        self._answered = threading.Condition()
        threading.Thread(target=self._run, name="mcp-output", daemon=True).start()

    def awaits(self, message: Any) -> None:
        """Record a request, so that `finish` waits for its answer."""
        if isinstance(message, JSONRPCRequest):
            with self._answered:
                self._unanswered.add(message.id)

    def finish(self, patience_s: float) -> None:
        """Wait, in a thread, until all requests are answered, the client is gone, or the time is up."""
        with self._answered:
            self._answered.wait_for(lambda: self._is_broken or not self._unanswered, patience_s)

    def write_from_thread(self, message: Any) -> None:
        """Write a message and wait, in a thread: a client that reads nothing cannot fill the queue."""
        done = threading.Event()
        self._waiting.put((message, done.set))
        done.wait()

    async def written(self, message: Any) -> None:
        """Write a message and wait until the client's end has taken it."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done.set)

        self._waiting.put((message, tell))
        await done.wait()

    def _run(self) -> None:
        while True:
            message, tell = self._waiting.get()
            view = memoryview(_line_of(message))
            try:
                while view and not self._is_broken:
                    view = view[os.write(self._fd, view) :]
            except OSError as error:
                self._is_broken = True
                log.info("mcp.client_gone", extra={"reason": str(error)})
            with self._answered:
                if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                    self._unanswered.discard(message.id)
                self._answered.notify_all()
            tell()


def _line_of(message: Any) -> bytes:
    written: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    return written.encode("utf-8", "replace") + b"\n"
