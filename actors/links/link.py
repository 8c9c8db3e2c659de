"""Connects two processes by a socket on which each calls the other with batches of frames.

Calls are answered in the event loop turn in which they arrive, so an answer says that the frames were taken, not that
they were dealt with. An answer without news (empty or zeros) waits up to `LATE_ANSWER_S` for a message that it can
share a write with. A link that breaks fails the calls in flight: their frames may or may not have arrived.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable, Sequence
from itertools import count
from typing import cast

from runtime.bus.link_messages import (
    ANSWER,
    CALL,
    HELLO,
    MAX_HELLO_BYTES,
    MAX_MESSAGE_BYTES,
    NOTICE,
    Hello,
    LinkMessage,
    LinkReader,
    decode_hello,
    encode_batch,
    encode_message,
    frames_in,
)
from runtime.errors import LinkLostError, WireError

HELLO_TIMEOUT_S = 5.0
SILENT_PEER_GONE_AFTER_S = 15
HIGH_WATER_BYTES = 4 * 1024 * 1024
LATE_ANSWER_S = 0.002
MAX_LATE_ANSWERS = 64
GATHERED_BYTES = 1_000_000
JOINED_BYTES = 64 * 1024
WELCOME = 0
MAX_CALL_ID = 2**32 - 1

log = logging.getLogger(__name__)

_CREDENTIALS = struct.Struct("3i")

OnFrames = Callable[[list[bytes]], bytes]
"""Takes a batch of frames, and returns the content of the answer."""

Admit = Callable[["Link", Hello], OnFrames | None]
"""Decides on a process that opens a link: what takes its frames, or None to close the link."""


class Link(asyncio.Protocol):
    """Holds one end of a link. Made with `on_frames` by who connects, with `admit` by who listens."""

    def __init__(
        self,
        on_frames: OnFrames | None = None,
        admit: Admit | None = None,
        hello_timeout_s: float = HELLO_TIMEOUT_S,
    ) -> None:
        self._hello_timeout_s = hello_timeout_s
        self._on_frames = on_frames
        self._admit = admit
        self._reader = LinkReader(MAX_MESSAGE_BYTES if admit is None else MAX_HELLO_BYTES)
        self._transport: asyncio.Transport | None = None
        self._calls: dict[int, asyncio.Future[bytes]] = {}
        self._numbers = count()
        self._late_answers: list[bytes] = []
        self._late_timer: asyncio.TimerHandle | None = None
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._when_writable: list[Callable[[], None]] = []
        self._hello_timer: asyncio.TimerHandle | None = None
        self.closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """True while calls can be made."""
        return self._transport is not None and self._on_frames is not None and not self.closed.is_set()

    @property
    def is_introduced(self) -> bool:
        """True once it is known who is at the other end, or the link is closed."""
        return self._on_frames is not None or self.closed.is_set()

    @property
    def is_writable(self) -> bool:
        """True while the other end keeps up with reading."""
        return self._writable.is_set()

    def when_writable(self, callback: Callable[[], None]) -> None:
        """Call back once, when the other end has caught up or the link is closed."""
        self._when_writable.append(callback)

    async def call(self, frames: Sequence[bytes]) -> bytes:
        """Hand a batch of frames to the other end, and return its answer. Raises LinkLostError, WireError."""
        await self._writable.wait()
        return await self.post(frames)

    def post(self, frames: Sequence[bytes]) -> asyncio.Future[bytes]:
        """Write a batch of frames now; the future gets its answer, or LinkLostError. Raises LinkLostError, WireError.

        Whoever posts while the link is not writable fills memory.
        """
        self._check_open()
        call_id = next(self._numbers) % MAX_CALL_ID + 1
        parts = encode_batch(call_id, frames)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._calls[call_id] = answer
        self._write(parts)
        return answer

    async def tell(self, frame: bytes) -> None:
        """Send a frame with the others of this event loop turn, and wait for no answer. Raises as `call` does."""
        await self._writable.wait()
        self._check_open()
        encode_batch(0, [frame], NOTICE)  # raises WireError for what does not fit
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._send_gathered)
        elif self._gathered_bytes + len(frame) > GATHERED_BYTES:
            self._send_gathered()
            asyncio.get_running_loop().call_soon(self._send_gathered)
        self._gathered.append(frame)
        self._gathered_bytes += len(frame)

    def close(self) -> None:
        """Close the link; calls in flight fail."""
        if self._transport is not None:
            self._transport.abort()

    def peer_uid(self) -> int | None:
        """Return the user at the other end; None for another machine, or where the kernel does not say."""
        opened = None if self._transport is None else self._transport.get_extra_info("socket")
        if opened is None or opened.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
            return None
        with socket.socket(fileno=os.dup(opened.fileno())) as connection:
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(told)[1])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; a process that connects has a limited time to introduce itself."""
        # uvloop's transports are none of asyncio's classes.
        self._transport = opened = cast(asyncio.Transport, transport)
        opened.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        _notice_silence(opened.get_extra_info("socket"))
        if self._admit is not None:
            self._hello_timer = asyncio.get_running_loop().call_later(self._hello_timeout_s, self.close)

    async def greet(self, hello: bytes) -> None:
        """Introduce this process, as the end that connected. Raises LinkLostError if it is not admitted."""
        if self._transport is None:
            raise LinkLostError("the link to the peer is closed")
        self._calls[WELCOME] = welcome = asyncio.get_running_loop().create_future()
        self._transport.write(hello)
        await welcome

    def data_received(self, data: bytes) -> None:
        """Take bytes of the other end; whatever is no message closes the link."""
        try:
            messages = self._reader.feed(data)
            for message in messages:
                self._take(message)
        except WireError as error:
            log.warning("link.unreadable", extra={"reason": error.message})
            self.close()
        except Exception:
            log.exception("link.failed")
            self.close()

    def pause_writing(self) -> None:
        """Hold back further calls until the other end has read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let calls go on."""
        self._writable.set()
        waiting, self._when_writable = self._when_writable, []
        for callback in waiting:
            callback()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the calls in flight."""
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        if self._late_timer is not None:
            self._late_timer.cancel()
        self.closed.set()
        calls, self._calls = self._calls, {}
        for answer in calls.values():
            if not answer.done():
                answer.set_exception(LinkLostError(f"the link broke during a call: {exc or 'closed by the peer'}"))
        self.resume_writing()

    def _take(self, message: LinkMessage) -> None:
        if self._on_frames is None:
            self._take_hello(message)
        elif message.kind == CALL:
            self._answer(message.call_id, self._on_frames(frames_in(message.content)))
        elif message.kind == NOTICE:
            self._on_frames(frames_in(message.content))
        elif message.kind == ANSWER:
            future = self._calls.pop(message.call_id, None)
            if future is not None and not future.done():
                future.set_result(bytes(message.content))
        else:
            raise WireError("a link is introduced once", kind=message.kind)

    def _take_hello(self, message: LinkMessage) -> None:
        if message.kind != HELLO or self._admit is None:
            raise WireError("the first message of a link introduces who opens it", kind=message.kind)
        self._on_frames = self._admit(self, decode_hello(message.content))
        if self._on_frames is None:
            self.close()
            return
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        self._reader.max_bytes = MAX_MESSAGE_BYTES
        self._answer(WELCOME, b"")

    def _answer(self, call_id: int, content: bytes) -> None:
        self._late_answers.append(encode_message(ANSWER, call_id, content))
        has_news = call_id == WELCOME or content.strip(b"\0")
        if has_news or len(self._late_answers) >= MAX_LATE_ANSWERS:
            self._write(())
        elif self._late_timer is None:
            self._late_timer = asyncio.get_running_loop().call_later(LATE_ANSWER_S, self._send_late)

    def _send_late(self) -> None:
        self._late_timer = None
        if self._late_answers:
            self._write(())

    def _send_gathered(self) -> None:
        """Send what was told in this turn."""
        frames, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if frames:
            self._write(encode_batch(0, frames, NOTICE))

    def _write(self, parts: Sequence[bytes]) -> None:
        """Write a message, behind the answers that waited for company."""
        if self._transport is None or self.closed.is_set():
            return
        answers, self._late_answers = self._late_answers, []
        together = [*answers, *parts]
        if sum(map(len, together)) <= JOINED_BYTES:
            self._transport.write(b"".join(together))  # cheaper than to hand over each part
        else:
            self._transport.writelines(together)

    def _check_open(self) -> None:
        if self._transport is None or self.closed.is_set():
            raise LinkLostError("the link to the peer is closed")


def _notice_silence(opened: socket.socket | None) -> None:
    """Break a TCP connection whose other machine is silent: it may be gone without a word."""
    if opened is None or opened.family not in (socket.AF_INET, socket.AF_INET6):
        return
    probes = 3
    pause_s = SILENT_PEER_GONE_AFTER_S // (probes + 1)
    with socket.socket(fileno=os.dup(opened.fileno())) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", pause_s),
            ("TCP_KEEPINTVL", pause_s),
            ("TCP_KEEPCNT", probes),
            ("TCP_USER_TIMEOUT", SILENT_PEER_GONE_AFTER_S * 1000),
        ):
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
