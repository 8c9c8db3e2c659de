"""Reads the id of a request that cannot be parsed, from its beginning and its end.

A client that is answered without the id of its request may wait for ever. Lines that are too long, nested too deep or
damaged have no parsed form, so both ends are looked at: clients write the id before the parameters or behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from mcp_types import RequestId
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SEEN_BYTES = 4_096

_SCALAR = rb'(?:"[^"\\\x00-\x1f]{0,200}"|-?\d{1,18}(?![\d.eE]))'
_MEMBER = re.compile(rb'\s*"([^"\\]{1,100})"\s*:\s*(' + _SCALAR + rb")?")
# Members with plain values behind all others. In JSON what the last brace closes is the message itself.
_LAST_MEMBERS = re.compile(rb'((?:,\s*"(?:jsonrpc|id|method)"\s*:\s*' + _SCALAR + rb"\s*){1,3})\}\s*\Z")
# A string that is cut off reaches to the end.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_NO_ID = b'"id":null'
# What the validation of the body says is about models of ours, and of no use to a client.
_INTERNAL = re.compile(rb'(?<="message":")Validation error: (?:[^"\\]|\\.)*', re.DOTALL)
_NO_MESSAGE = b"this body is not a JSON-RPC 2.0 message; send one message for each request, no list of them"


def request_id_of(head: bytes, tail: bytes) -> RequestId | None:
    """Return the id of a request of which the first and the last bytes are given; None where none can be read.

    The id of a response is none of ours to answer.
    """
    found = dict(_first_members(head))
    if b"result" in found or b"error" in found:
        return None
    if b"id" not in found and (last := _LAST_MEMBERS.search(tail)) is not None:
        found |= dict(_MEMBER.findall(last[1]))
    value = found.get(b"id")
    if not value:
        return None
    try:
        read = json.loads(value)
    except ValueError:
        return None
    return read if isinstance(read, int | str) else None


def _first_members(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the members of the outermost object that begin in `head`, each with its value if that is plain."""
    start = head.find(b"{")
    if start < 0 or head[:start].strip():
        return
    depth, at = 1, start + 1
    if (member := _MEMBER.match(head, at)) is not None:
        yield member[1], member[2] or b""
        at = member.end()
    while depth and (token := _TOKEN.search(head, at)) is not None:
        at = token.end()
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        if depth == 1 and token[0] == b"," and (member := _MEMBER.match(head, at)) is not None:
            yield member[1], member[2] or b""
            at = member.end()


class RefusalsWithIds:
    """Puts the id of a request, and words for a client, into the refusal of a body that could not be parsed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head, tail = bytearray(), bytearray()
        held: list[Message] = []

        async def seen() -> Message:
            message = await receive()
            body = message.get("body", b"") if message["type"] == "http.request" else b""
            head.extend(body[: SEEN_BYTES - len(head)])
            tail.extend(body[-SEEN_BYTES:])
            del tail[:-SEEN_BYTES]
            return message

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 400:
                held.append(message)
                return
            if held and message["type"] == "http.response.body":
                start = held.pop()
                body = _with_id(message.get("body", b""), bytes(head), bytes(tail))
                length = (b"content-length", str(len(body)).encode())
                headers = [length if name == b"content-length" else (name, value) for name, value in start["headers"]]
                await send({**start, "headers": headers})
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, seen, answered)


def _with_id(body: bytes, head: bytes, tail: bytes) -> bytes:
    if not body.startswith(b'{"jsonrpc"') or _NO_ID not in body:
        return body
    body = body.replace(_NO_ID, b'"id":' + json.dumps(request_id_of(head, tail)).encode(), 1)
    return _INTERNAL.sub(_NO_MESSAGE, body)
