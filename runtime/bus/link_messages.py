"""Encodes the messages of a link, which carries batches of frames between an endpoint and the bus.

On the wire a message is its length without these four bytes (big-endian), one byte for its kind, four bytes for the
number of the call, and its content. Both ends call each other:

    hello    the first message of the end that connects: who it is; content as MessagePack
    call     a batch of frames: how many (four bytes), then each with its length before it (four bytes)
    answer   the answer to a call, under the same number: one byte for the outcome of each frame
    notice   a batch of frames as in a call, which gets no answer; the number is 0
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from runtime.bus.frames import SendOutcome
from runtime.errors import WireError

HELLO, CALL, ANSWER, NOTICE = 1, 2, 3, 4
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
MAX_HELLO_BYTES = 4_096

_OUTCOMES: tuple[SendOutcome, ...] = ("accepted", "refused", "unreachable", "full")
_CODES = {outcome: number for number, outcome in enumerate(_OUTCOMES)}
_HEAD = struct.Struct(">IBI")
_LENGTH = struct.Struct(">I")
_HEAD_AFTER_LENGTH = _HEAD.size - _LENGTH.size


class LinkMessage(NamedTuple):
    """Holds one message of a link. `call_id` numbers the calls of one end, from 1; hellos and notices have 0."""

    kind: int
    call_id: int
    content: memoryview


class Hello(msgspec.Struct, frozen=True):
    """Introduces the process that opens a link. `secret` is what the bus handed out with its door."""

    address: str
    process_id: str
    secret: bytes


def encode_message(kind: int, call_id: int, content: bytes) -> bytes:
    """Return a message as bytes on the wire. Raises WireError if it is too large."""
    size = _HEAD_AFTER_LENGTH + len(content)
    if size > MAX_MESSAGE_BYTES:
        raise WireError(f"a message of {size} bytes does not fit a link; at most {MAX_MESSAGE_BYTES}", size_bytes=size)
    return _HEAD.pack(size, kind, call_id) + content


def encode_batch(call_id: int, frames: Sequence[bytes], kind: int = CALL) -> list[bytes]:
    """Return a call or notice that carries frames, as parts to be written one after the other. Raises WireError."""
    size = _HEAD_AFTER_LENGTH + _LENGTH.size + sum(_LENGTH.size + len(frame) for frame in frames)
    if size > MAX_MESSAGE_BYTES:
        raise WireError(f"a batch of {size} bytes does not fit a link; at most {MAX_MESSAGE_BYTES}", size_bytes=size)
    parts = [_HEAD.pack(size, kind, call_id) + _LENGTH.pack(len(frames))]
    for frame in frames:
        parts.append(_LENGTH.pack(len(frame)))
        parts.append(frame)
    return parts


def frames_in(content: memoryview) -> list[bytes]:
    """Return the frames of a call. Raises WireError unless they fill its content exactly."""
    if len(content) < _LENGTH.size:
        raise WireError(f"a batch of {len(content)} bytes is cut short", size_bytes=len(content))
    count, at = _LENGTH.unpack_from(content)[0], _LENGTH.size
    if count * _LENGTH.size > len(content):
        raise WireError(f"a batch of {len(content)} bytes cannot hold {count} frames", size_bytes=len(content))
    frames = []
    for _ in range(count):
        begin = at + _LENGTH.size
        if begin > len(content):
            raise WireError(f"a batch of {len(content)} bytes is cut short", size_bytes=len(content))
        at = begin + _LENGTH.unpack_from(content, at)[0]
        if at > len(content):
            raise WireError(f"a batch of {len(content)} bytes is cut short", size_bytes=len(content))
        frames.append(bytes(content[begin:at]))
    if at != len(content):
        raise WireError(f"a batch has {len(content) - at} bytes behind its last frame", size_bytes=len(content))
    return frames


def encode_outcomes(outcomes: Sequence[SendOutcome]) -> bytes:
    """Return outcomes as one byte each."""
    return bytes(map(_CODES.__getitem__, outcomes))


def decode_outcomes(content: bytes | memoryview) -> list[SendOutcome]:
    """Return the outcomes that an answer holds. Raises WireError."""
    try:
        return [_OUTCOMES[code] for code in content]
    except IndexError:
        raise WireError(f"an answer holds an unknown outcome: {bytes(content[:20])!r}") from None


class LinkReader:
    """Cuts the bytes of a connection into messages. `max_bytes`: of one message, its head included."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self.max_bytes = max_bytes
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[LinkMessage]:
        """Return the messages that are complete with these bytes. Raises WireError for what is no message."""
        source: bytes | bytearray = data
        if self._pending:
            self._pending += data
            if len(self._pending) < self._wanted(self._pending):
                return []
            source, self._pending = self._pending, bytearray()
        view, at = memoryview(source), 0
        found = []
        while len(view) - at >= _HEAD.size:
            size, kind, call_id = _HEAD.unpack_from(view, at)
            self._check(size, kind)
            end = at + _LENGTH.size + size
            if end > len(view):
                break
            found.append(LinkMessage(kind, call_id, view[at + _HEAD.size : end]))
            at = end
        if at < len(view):
            self._pending += view[at:]
        return found

    def _wanted(self, pending: bytearray) -> int:
        """Return how many bytes the first pending message needs."""
        if len(pending) < _HEAD.size:
            return _HEAD.size
        size, kind, _ = _HEAD.unpack_from(pending)
        self._check(size, kind)
        return int(_LENGTH.size + size)

    def _check(self, size: int, kind: int) -> None:
        if kind not in (HELLO, CALL, ANSWER, NOTICE):
            raise WireError(f"a link has no messages of kind {kind}", kind=kind)
        if not _HEAD_AFTER_LENGTH <= size <= self.max_bytes:
            raise WireError(f"a message of {size} bytes is not allowed; at most {self.max_bytes}", size_bytes=size)


_HELLO_DECODER = msgspec.msgpack.Decoder(Hello)


def encode_hello(hello: Hello) -> bytes:
    """Return the first message of a link."""
    return encode_message(HELLO, 0, msgspec.msgpack.encode(hello))


def decode_hello(content: memoryview) -> Hello:
    """Return who opens a link. Raises WireError."""
    try:
        return _HELLO_DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"the first message of a link is unreadable: {error}") from error
