"""How long the body of a request may take, where the application reads it by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from serve.http.connections.body_time import BodyTime

LIMIT_S = 30
SCOPE: Scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"9")]}


class TurnedClock(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock goes to the next timer at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        look = selector.select

        def select(timeout_s: float | None) -> Any:
            self.now_s += timeout_s or 0
            return look(0)

        selector.select = select

    def time(self) -> float:
        return self.now_s


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the length of the body."""
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message["body"]), message["more_body"]
    await answer(send, str(length).encode())


async def answer(send: Send, body: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def exchanged(app: Callable[[Scope, Receive, Send], Awaitable[None]], parts: list[tuple[float, bytes]]) -> Any:
    """Status and body of the answer, and when it began, where each part of the body comes so long after the last."""
    left = list(parts)
    sent: list[Message] = []
    loop = TurnedClock()
    began_s = [0.0]

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        after_s, body = left.pop(0)
        await asyncio.sleep(after_s)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            began_s[0] = loop.time()
        sent.append(message)

    async def run() -> None:
        async with asyncio.timeout(3_600):
            await BodyTime(app, LIMIT_S)(SCOPE, receive, send)

    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    start, *bodies = sent
    return start["status"], b"".join(each["body"] for each in bodies), began_s[0], dict(start["headers"])


@pytest.mark.parametrize(("after_s", "status"), [(LIMIT_S - 1, 200), (LIMIT_S, 408), (LIMIT_S + 1, 408)])
def test_a_body_that_ends_in_time_is_answered_and_a_later_one_is_a_408(after_s: int, status: int) -> None:
    told, body, began_s, headers = exchanged(reading, [(1, b"half"), (after_s - 1, b" body")])
    assert told == status
    assert began_s == min(after_s, LIMIT_S)
    if status == 200:
        assert body == b"9"
    else:
        problem = json.loads(body)
        assert (problem["code"], problem["status"]) == ("too_slow", 408)
        assert problem["detail"] == "4 of 9 bytes of the body were here within 30 s"
        assert headers[b"connection"] == b"close"


def test_a_body_that_drips_has_no_longer_than_one_that_stops() -> None:
    told, body, began_s, _ = exchanged(reading, [(10, b"a")] * 9)
    assert (told, began_s) == (408, LIMIT_S)
    assert json.loads(body)["detail"].startswith("2 of 9 bytes")


def test_an_application_may_take_longer_for_its_answer_than_a_body_may() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await asyncio.sleep(10 * LIMIT_S)
        await answer(send, b"at last")

    assert exchanged(slow, [(1, b"all of it")])[:3] == (200, b"at last", 10 * LIMIT_S + 1)


def test_an_application_that_reads_no_body_is_not_ended() -> None:
    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(10 * LIMIT_S)
        await answer(send, b"unheard")

    assert exchanged(deaf, [(1, b"half")])[:2] == (200, b"unheard")


def test_an_answer_that_has_begun_ends_where_it_is() -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"so far", "more_body": True})
        await receive()
        await receive()

    assert exchanged(early, [(1, b"half"), (LIMIT_S, b" body")])[:2] == (200, b"so far")


def test_what_an_application_says_of_a_body_that_it_lost_is_not_sent() -> None:
    async def wordy(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
            await receive()
        finally:
            await answer(send, b"an error of its own")

    assert exchanged(wordy, [(1, b"half"), (LIMIT_S, b" body")])[0] == 408
