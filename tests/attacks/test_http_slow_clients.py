"""Clients that send little, late or too much, or do not read: others are answered meanwhile, and they are cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site, unread_socket, until

pytestmark = pytest.mark.long

SOON = 0.3
PATIENCE_S = 60.0
HEAD = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(
        tmp_path, head_timeout_s=SOON, body_timeout_s=SOON, write_timeout_s=SOON, keep_alive_s=1
    ) as opened:
        yield opened


async def connections(stack: AsyncExitStack, site: Site, number: int, data: bytes) -> list[asyncio.StreamReader]:
    readers = []
    for _ in range(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        stack.callback(writer.close)
        writer.write(data)
        await writer.drain()
        readers.append(reader)
    return readers


@pytest.mark.parametrize("data", [b"", b"GET /health HTTP/1.1\r\nHost: loc", HEAD.encode() + b"{"])
async def test_five_hundred_connections_without_a_whole_request_keep_nobody_out(site: Site, data: bytes) -> None:
    async with AsyncExitStack() as stack:
        await connections(stack, site, 500, data)
        assert (await site.call("GET", "/health")).status == 200
        assert (await site.ask("Where is it?")).json["answer"] == "Answer to Where is it?"


@pytest.mark.parametrize("open_ones", [9, 10, 11])
async def test_the_connection_that_waited_longest_makes_room_for_a_new_one(tmp_path: Path, open_ones: int) -> None:
    async with open_site(tmp_path, max_connections=10) as site, AsyncExitStack() as stack:
        readers = await connections(stack, site, open_ones, b"GET / HTTP/1.1\r\n")
        assert (await site.call("GET", "/health")).status == 200
        closed = max(0, open_ones + 1 - 10)
        for reader in readers[:closed]:
            Reply(await reader.read()).is_problem(503, "overloaded")
        assert not any(reader.at_eof() for reader in readers[closed:])


async def test_a_request_that_is_being_answered_is_not_closed_to_make_room(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_connections=2) as site, AsyncExitStack() as stack:
        asking = asyncio.create_task(site.ask("hold this"))
        await until(site.log.unfinished)
        await connections(stack, site, 20, b"")
        site.hold.set()
        assert (await asking).status == 200


@pytest.mark.parametrize("data", ["", "\r\n", "GET /health HTTP/1.1\r\nHost: loc"])
async def test_a_head_that_is_late_is_a_408_in_time(strict: Site, data: str) -> None:
    Reply(await strict.sends(data.encode())).is_problem(408, "too_slow", "0.3 s")


async def test_a_head_that_drips_is_a_408_in_time(strict: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", strict.port)

    async def drip() -> None:
        writer.write(b"GET /health HTTP/1.1\r\n")
        while True:
            writer.write(b"X: y\r\n")
            await asyncio.sleep(SOON / 10)

    dripping = asyncio.create_task(drip())
    Reply(await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE_S)).is_problem(408, "too_slow")
    dripping.cancel()
    writer.close()


async def test_a_body_that_is_late_is_a_408_in_time(strict: Site) -> None:
    answer = await strict.sends(HEAD.encode() + b'{"mess')
    Reply(answer).is_problem(408, "too_slow", "6 of 100 bytes")


async def test_what_drips_behind_an_answer_that_did_not_wait_for_it_ends_in_time(strict: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", strict.port)
    writer.write(HEAD.replace("POST", "OPTIONS").replace(": 100", ": 1000000").encode())

    async def drip() -> None:
        while True:
            writer.write(b" ")
            await asyncio.sleep(SOON / 10)

    dripping = asyncio.create_task(drip())
    answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
    dripping.cancel()
    assert Reply(answer).status < 300
    writer.close()


async def test_a_connection_is_kept_for_what_comes_behind_an_answer_in_time(strict: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", strict.port)
    writer.write(HEAD.replace("POST", "OPTIONS").encode())
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b" " * 100 + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b'{"status":"alive"}')
    writer.close()


async def test_a_connection_that_is_kept_alive_is_held_to_the_same(strict: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", strict.port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b'{"status":"alive"}')
    writer.write(b"GET /hea")
    Reply(await asyncio.wait_for(reader.read(), PATIENCE_S)).is_problem(408, "too_slow")
    writer.close()


async def test_an_answer_that_takes_longer_than_a_head_may_is_given(strict: Site) -> None:
    asking = asyncio.create_task(strict.ask("hold this"))
    await asyncio.sleep(2 * SOON)
    strict.hold.set()
    assert (await asking).status == 200


async def test_who_does_not_read_is_cut_off(strict: Site) -> None:
    line = unread_socket(strict.port)
    line.setblocking(False)
    sent = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000
    loop = asyncio.get_running_loop()
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await loop.sock_sendall(line, sent)
                await asyncio.sleep(SOON)
    line.close()
    assert (await strict.call("GET", "/health")).status == 200


@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_a_head_may_have_just_so_many_bytes(tmp_path: Path, extra: int) -> None:
    async with open_site(tmp_path, max_head_bytes=1_000) as site:
        counted = len("/health") + len("hostlocalhost") + len("connectionclose") + len("x")
        value = "y" * (1_000 - counted + extra)
        data = f"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {value}\r\n\r\n"
        reply = Reply(await site.sends(data.encode()))
        assert reply.status == (431 if extra > 0 else 200)


@pytest.mark.parametrize("number", [99, 100, 101])
async def test_a_head_may_have_just_so_many_headers(site: Site, number: int) -> None:
    others = "".join(f"X-{n}: y\r\n" for n in range(number - 2))
    data = f"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{others}\r\n"
    reply = Reply(await site.sends(data.encode()))
    assert reply.status == (431 if number > 100 else 200)


async def test_a_head_without_end_is_refused_while_it_comes(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(b"GET /health HTTP/1.1\r\nX: ")
    for _ in range(33):
        writer.write(b"a" * 1_024)
        await asyncio.sleep(0)
    Reply(await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE_S)).is_problem(431, "head_too_large", "32768")
    writer.close()


@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_a_body_may_have_just_so_many_bytes(tmp_path: Path, extra: int) -> None:
    async with open_site(tmp_path, max_body_bytes=500) as site:
        empty = json.dumps({"message": "", "repo": None}).encode()
        body = json.dumps({"message": "m" * (500 - len(empty) + extra), "repo": None}).encode()
        reply = await site.call("POST", MESSAGES, body)
        assert (len(body), reply.status) == (500 + extra, 413 if extra > 0 else 200)


async def test_a_thousand_followers_of_events_leave_room_for_others(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_streams=20, max_connections=600) as site, AsyncExitStack() as stack:
        run_id = (await site.ask("why", wait=True)).run_id
        follow = f"GET {RUNS}/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        readers = await connections(stack, site, 500, follow.encode())
        firsts = [await asyncio.wait_for(reader.readline(), PATIENCE_S) for reader in readers]
        assert firsts.count(b"HTTP/1.1 200 OK\r\n") == 20
        assert firsts.count(b"HTTP/1.1 503 Service Unavailable\r\n") == 480
        assert (await site.ask("Where?")).status == 200


async def test_the_place_of_a_follower_that_left_is_free_again(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_streams=1) as site:
        run_id = (await site.ask("why", wait=True)).run_id
        follow = f"GET {RUNS}/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        for _ in range(3):
            async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
                first = b""
                while b" 200 " not in first:
                    (reader,) = await connections(stack, site, 1, follow.encode())
                    first = await reader.readline()


async def test_a_stream_without_events_shows_a_sign_of_life(tmp_path: Path) -> None:
    async with open_site(tmp_path, stream_alive_s=0.05) as site, AsyncExitStack() as stack:
        run_id = (await site.ask("why", wait=True)).run_id
        follow = f"GET {RUNS}/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        (reader,) = await connections(stack, site, 1, follow.encode())
        await asyncio.wait_for(reader.readuntil(b": alive\n\n"), PATIENCE_S)


@pytest.mark.parametrize("asked", [3, 4, 5])
async def test_only_so_many_questions_are_waited_for_at_once(tmp_path: Path, asked: int) -> None:
    async with open_site(tmp_path, max_asked=4) as site:
        asking = [asyncio.create_task(site.ask("hold this")) for _ in range(asked)]
        await until(lambda: sum(task.done() for task in asking) + len(site.log.unfinished()) == asked)
        assert (await site.call("GET", "/health")).status == 200
        site.hold.set()
        replies = await asyncio.gather(*asking)
        refused = [reply for reply in replies if reply.status != 200]
        assert len(refused) == max(0, asked - 4)
        for reply in refused:
            reply.is_problem(503, "overloaded", "4 questions")
            assert reply.headers["retry-after"] == "5"


@pytest.mark.parametrize("size", [1_000_001, 8_000_000, 100_000_000])
async def test_a_client_that_sends_a_body_far_too_large_reads_why_it_is_refused(tmp_path: Path, size: int) -> None:
    async with open_site(tmp_path) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {size}\r\n\r\n".encode())
        block = b" " * 1_000_000
        for sent in range(0, size, len(block)):  # as most clients do: all of it, and only then the answer is read
            writer.write(block[: size - sent])
            await writer.drain()
        reply = Reply(await reader.read())
        writer.close()
        reply.is_problem(413, "body_too_large", str(size), "1000000")
        assert reply.headers["connection"] == "close"
        assert (await site.call("GET", "/health")).status == 200
