"""Encodes frames: a small header that the bus reads, and a body that it never decodes.

On the wire a frame is four bytes of header length (big-endian), the header as MessagePack, then the body as it is.
Frames are one-way; a query is a request frame and a reply frame with the same correlation id.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from runtime.errors import WireError
from runtime.primitives.ids import Address, MessageId, RunId, new_message_id

Kind = Literal["event", "command", "query", "reply", "cancel"]
CancelReason = Literal["timeout", "cancelled"]
SendOutcome = Literal["accepted", "refused", "unreachable", "full"]
"""Whether the bus took a frame: `refused` by a live bus that has no recipient, `unreachable` without a bus."""

BUS = Address("bus")
"""The address of the bus itself, for queries about the bus and reports of failed handlers."""

_LENGTH_BYTES = 4

# msgspec lets the last two escape: for text that is not UTF-8, and for bodies nested very deep.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """Addresses a message. Without a `target` the bus finds the handler or the subscribers of `type`.

    `reason` holds one word on why a query is cancelled (`timeout`, `cancelled`), the code of the error in a failed
    reply, or the failure in a report of a failed handler, so that readers of headers need not decode bodies.
    """

    message_id: MessageId
    kind: Kind
    type: str
    source: Address
    target: Address | None = None
    correlation_id: MessageId | None = None
    run_id: RunId | None = None
    deadline_ms: int | None = None
    trace_id: str | None = None
    parent_id: MessageId | None = None
    incarnation: int = 0
    failed: bool = False
    reason: str | None = None


class Frame(msgspec.Struct, frozen=True):
    """Carries one message: a header and opaque bytes."""

    header: Header
    body: bytes = b""


_HEADER_DECODER = msgspec.msgpack.Decoder(Header)


def encode_frame(frame: Frame) -> bytes:
    """Return the frame's bytes on the wire."""
    header = msgspec.msgpack.encode(frame.header)
    return len(header).to_bytes(_LENGTH_BYTES, "big") + header + frame.body


def decode_header(data: bytes) -> tuple[Header, int]:
    """Return the header and the offset at which the body begins. Raises WireError."""
    body_at = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    if len(data) < _LENGTH_BYTES or len(data) < body_at:
        raise WireError(
            f"a frame of {len(data)} bytes is cut short: its header ends at {body_at}", size_bytes=len(data)
        )
    try:
        return _HEADER_DECODER.decode(data[_LENGTH_BYTES:body_at]), body_at
    except _UNREADABLE as error:
        raise WireError(f"the header of a frame of {len(data)} bytes is unreadable: {error}") from error


def decode_frame(data: bytes) -> Frame:
    """Decode the whole frame. Raises WireError."""
    header, body_at = decode_header(data)
    return Frame(header, data[body_at:])


def pack_body(value: Any) -> bytes:
    """Encode a body as MessagePack."""
    return msgspec.msgpack.encode(value)


def unpack_body(body: bytes) -> dict[str, Any]:
    """Decode a body that is a map; empty bytes are an empty map. Raises WireError."""
    if not body:
        return {}
    try:
        return msgspec.msgpack.decode(body, type=dict[str, Any])
    except _UNREADABLE as error:
        raise WireError(f"a body of {len(body)} bytes is unreadable: {error}", size_bytes=len(body)) from error


def reply_to(query: Header, source: Address, body: bytes, failed: bool = False, reason: str | None = None) -> Frame:
    """Build the reply to a query; `failed` marks a body that carries an error, `reason` is that error's code."""
    return Frame(_answer_header(query, source, query.source, failed, reason), body)


def failure_report(request: Header, source: Address, reason: str) -> Frame:
    """Build the frame that reports a failed command or event handler to the bus; its body is the request's header."""
    return Frame(_answer_header(request, source, BUS, True, reason), msgspec.msgpack.encode(request))


def reported_request(report: Frame) -> Header:
    """Return the header of the command or event that a failure report is about. Raises WireError."""
    try:
        return _HEADER_DECODER.decode(report.body)
    except _UNREADABLE as error:
        raise WireError(f"a failure report of {len(report.body)} bytes is unreadable: {error}") from error


def cancel_of(query: Header, reason: CancelReason) -> Frame:
    """Build the frame that cancels a query for that reason."""
    return Frame(
        Header(
            message_id=new_message_id(),
            kind="cancel",
            type=query.type,
            source=query.source,
            target=query.target,
            correlation_id=query.message_id,
            run_id=query.run_id,
            trace_id=query.trace_id,
            parent_id=query.message_id,
            reason=reason,
        )
    )


def _answer_header(request: Header, source: Address, target: Address, failed: bool, reason: str | None) -> Header:
    return Header(
        message_id=new_message_id(),
        kind="reply",
        type=request.type,
        source=source,
        target=target,
        correlation_id=request.message_id,
        run_id=request.run_id,
        trace_id=request.trace_id,
        parent_id=request.message_id,
        failed=failed,
        reason=reason,
    )
