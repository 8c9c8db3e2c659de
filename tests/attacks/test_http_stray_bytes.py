"""Bytes that are no request behind a whole one: that one is answered, and the connection then closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doors.http_site import MESSAGES, Reply, Site, open_site, until

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALIVE = b'{"status":"alive"}'
STRAY = {
    "a brace": b"}",
    "lines": b"XX\r\n\r\n",
    "a target that is no path": b"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a target that is no path, and a question": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n%s",
    "a large head": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000 + b"\r\n\r\n",
    "a length of two minds": b"GET /health HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def question(message: str) -> bytes:
    """A whole request."""
    body = f'{{"message": "{message}"}}'
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("stray", STRAY.values(), ids=STRAY)
async def test_stray_bytes_cost_no_whole_request_its_answer(site: Site, stray: bytes) -> None:
    reply = Reply(await site.sends(question("Where?") + stray.replace(b"%s", question("When?"))))
    assert (reply.status, reply.headers["connection"]) == (200, "close")
    assert reply.json["answer"] == "Answer to Where?"
    assert len(site.log.runs(10)) == 1


@pytest.mark.parametrize("stray", STRAY.values(), ids=STRAY)
async def test_nor_do_they_while_it_is_being_answered(site: Site, stray: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(question("hold this"))
    await until(site.log.unfinished)
    writer.write(stray.replace(b"%s", question("When?")))
    assert (await site.call("GET", "/health")).status == 200  # after the stray bytes
    site.hold.set()
    reply = Reply(await asyncio.wait_for(reader.read(), 60))
    writer.close()
    assert (reply.status, reply.json["answer"]) == (200, "Answer to hold this")
    assert len(site.log.runs(10)) == 1


async def test_a_length_that_is_too_small_refuses_the_body_that_it_leaves(site: Site) -> None:
    body = b'{"message": "Where?"}'
    data = question("Where?").replace(b"Length: %d" % len(body), b"Length: %d" % (len(body) - 1))
    Reply(await site.sends(data)).is_problem(400, "bad_request", "JSON")


async def test_each_of_several_whole_requests_is_answered(site: Site) -> None:
    told = await site.sends(HEALTH * 3 + b"}")
    assert (told.count(b"HTTP/1.1 200 OK\r\n"), told.count(ALIVE), told.count(b"connection: close")) == (3, 3, 1)


async def test_a_body_that_is_no_body_costs_the_requests_before_it_nothing(site: Site) -> None:
    broken = b"POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"
    told = await site.sends(HEALTH * 2 + broken)
    assert told.count(ALIVE) == 2
