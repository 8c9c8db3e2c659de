"""Others are answered while a large document of a caller is checked, over HTTP and gRPC."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from serve.grpc.v1 import jeeves_pb2 as pb
from serve.http.connections.gate import Gate
from serve.http.connections.http_limits import DEFAULT_LIMITS
from serve.http.documents.request_bodies import CHECKED_HERE_BYTES
from tests.doors.grpc_site import open_grpc_site
from tests.doors.http_site import MESSAGES, open_site
from tests.doors.test_cancelled_work import Anybody


def document_of(size: int) -> bytes:
    """A list of small numbers that has so many bytes."""
    found = f"[{','.join('1' * (size // 2 - 1))}]"
    return (found + " " * (size - len(found))).encode()


async def turns_until(work: Awaitable[Any]) -> int:
    """How many turns of the event loop others had before the work was done."""
    working = asyncio.ensure_future(work)
    turns = 0
    while not working.done():
        await asyncio.sleep(0)
        turns += 1
    working.result()
    return turns


async def received(body: bytes) -> bytes:
    """Send a body through the gate, and return what the application got."""
    got: list[bytes] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        got.append((await receive())["body"])

    def methods_of(_scope: Any) -> tuple[str, ...]:
        return ("POST",)

    async def sent_to_nobody(_message: Any) -> None:
        return None

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    parts = [{"type": "http.request", "body": body, "more_body": False}]
    gate = Gate(app, DEFAULT_LIMITS, (), methods_of, Anybody(), bytes, asyncio.Event(), lambda _scope: False)
    told = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body))}
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    await gate({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, sent_to_nobody)
    return got[0]


@pytest.mark.parametrize(("further", "is_aside"), [(-1, False), (0, False), (1, True)])
async def test_a_body_beyond_a_size_is_checked_while_others_are_answered(further: int, is_aside: bool) -> None:
    at_once = await turns_until(received(document_of(CHECKED_HERE_BYTES // 2)))
    body = document_of(CHECKED_HERE_BYTES + further)
    assert (await turns_until(received(body)) > at_once) == is_aside
    assert await received(body) == body


async def test_a_large_body_holds_nobody_up() -> None:
    assert await turns_until(received(document_of(200_000))) > 20


@pytest.mark.parametrize("size", [CHECKED_HERE_BYTES, CHECKED_HERE_BYTES + 1])
async def test_what_is_no_json_is_refused_in_the_same_words_at_any_size(tmp_path: Path, size: int) -> None:
    async with open_site(tmp_path) as site:
        reply = await site.call("POST", MESSAGES, document_of(size - 1)[:-1] + b"[,")
        reply.is_problem(400, "bad_request", "the body is no JSON")
        twice = b'{"message": "Where?", "message": "Why?"' + b" " * size + b"}"
        (await site.call("POST", MESSAGES, twice)).is_problem(400, "bad_request", "given twice")


@pytest.mark.parametrize("size", [CHECKED_HERE_BYTES, CHECKED_HERE_BYTES + 1, 100_000])
async def test_the_data_of_an_answer_over_grpc_arrive_whole(tmp_path: Path, size: int) -> None:
    async with open_grpc_site(tmp_path) as door:
        asked = await door.call("Run", pb.RunRequest(message="why", wait=True))
        data = json.dumps({"numbers": [1] * ((size - 15) // 3)})
        answer = pb.AnswerRequest(
            run_id=asked.run_id, interrupt_id=asked.question.interrupt_id, text="x", data_json=data
        )
        await door.call("Answer", answer)
        shown = json.loads((await door.call("Get", pb.GetRequest(run_id=asked.run_id))).envelope_json)
        assert shown["interrupt"]["response"]["data"] == json.loads(data)
