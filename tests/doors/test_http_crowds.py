"""Crowds at the door of a whole system: a hundred streams lose no event, a thousand slow senders hold up nobody.

What was measured is printed: `pytest -m long -rP` shows it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import NamedTuple

import httpx
import pytest

from tests.doors.event_stream_client import Part, Stream
from tests.doors.program import Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_http import MESSAGES, Service, until_stopped
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(900)]

STREAMS = 100
# Every so many of them lose their connection, after so many events.
BREAK_OFF = 3
EVENTS_SEEN = 4
SLOW = 1_000
READS = 200
MOST_READ_S = 2.0
QUESTION = "Where is PostOffice.deliver defined?"


class Seen(NamedTuple):
    """The events of one run as a client has them, and when the first and the last were there."""

    parts: list[Part]
    first_s: float
    last_s: float


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("crowds")
    repo = write_files(folder / "repo", FILES)
    program = Program(folder / "state", JEEVES_HTTP__REQUESTS_PER_CALLER=str(2 * STREAMS))
    with until_stopped(Service(program, [repo], free_port())) as running:
        yield running


def client_of(service: Service) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}", trust_env=False, timeout=600, limits=limits)


async def part_of(client: httpx.AsyncClient, number: int, seen: list[Part], most: int | None) -> None:
    """Go on with a stream to its end, or until `most` events were seen."""
    headers = {"Idempotency-Key": f"crowd-{number}"}
    if seen:
        headers["Last-Event-ID"] = seen[-1].id
    body = {"message": QUESTION, "stream": True}
    async with client.stream("POST", MESSAGES, json=body, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        async for part in Stream(response).parts():
            seen.append(part)
            if len(seen) == most:
                return


async def followed(client: httpx.AsyncClient, number: int) -> Seen:
    began_s = time.perf_counter()
    seen: list[Part] = []
    await part_of(client, number, seen, 1)
    first_s = time.perf_counter() - began_s
    if number % BREAK_OFF == 0:
        await part_of(client, number, seen, EVENTS_SEEN)
    await part_of(client, number, seen, None)
    return Seen(seen, first_s, time.perf_counter() - began_s)


async def test_a_hundred_streams_at_once_lose_no_event(service: Service) -> None:
    async with client_of(service) as client:
        await part_of(client, STREAMS, [], None)
        began_s = time.perf_counter()
        crowd = await asyncio.gather(*(followed(client, number) for number in range(STREAMS)))
        took_s = time.perf_counter() - began_s
    for each in crowd:
        *events, answer = each.parts
        assert [part.id for part in events] == [str(number) for number in range(1, len(events) + 1)]
        assert (events[-1].event, answer.event) == ("run.finished", "answer")
        assert answer.data["citations"]
    assert len({each.parts[-1].data["run_id"] for each in crowd}) == STREAMS
    firsts, lasts = [each.first_s for each in crowd], [each.last_s for each in crowd]
    told = f"{sum(len(each.parts) for each in crowd)} events of {STREAMS} runs in {took_s:.1f} s"
    print(  # noqa: T201
        f"{told}; first event after {statistics.median(firsts):.2f} s (most {max(firsts):.2f}), "
        f"answer after {statistics.median(lasts):.1f} s (most {max(lasts):.1f}); load {os.getloadavg()[0]:.1f}"
    )


async def test_a_thousand_connections_that_send_slowly_hold_up_nobody(service: Service) -> None:
    async with AsyncExitStack() as stack:
        writers = []
        for _ in range(SLOW):
            _, writer = await asyncio.open_connection("127.0.0.1", service.port)
            stack.callback(writer.close)
            writer.write(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nX: ")
            writers.append(writer)

        async def drip() -> None:
            while True:
                for writer in writers:
                    writer.write(b"y")
                await asyncio.sleep(0.5)

        dripping = asyncio.create_task(drip())
        took_s = []
        async with client_of(service) as client:
            for number in range(READS):
                began_s = time.perf_counter()
                reply = await client.get("/api/v1/runs?limit=1" if number % 2 else "/health")
                took_s.append(time.perf_counter() - began_s)
                assert reply.status_code == 200
            began_s = time.perf_counter()
            answered = await client.post(MESSAGES, json={"message": QUESTION})
            question_s = time.perf_counter() - began_s
        dripping.cancel()
    assert answered.json()["citations"]
    in_order = sorted(took_s)
    print(  # noqa: T201
        f"{READS} reads beside {SLOW} slow connections: median {1_000 * statistics.median(took_s):.1f} ms, "
        f"95 % {1_000 * in_order[int(0.95 * READS)]:.1f} ms, most {1_000 * in_order[-1]:.0f} ms; "
        f"a question {question_s:.1f} s; load {os.getloadavg()[0]:.1f}"
    )
    assert in_order[int(0.95 * READS)] < MOST_READ_S
