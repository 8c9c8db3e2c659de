"""A flood of 5,000 questions at the door of a whole system: memory is bounded, and each accepted one is answered.

What was measured is printed: `pytest -m slow -rP` shows it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_http import MESSAGES, Service, until_stopped
from tests.doors.test_http_crowds import QUESTION, client_of
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1_200)]

QUESTIONS = int(os.environ.get("FLOOD_QUESTIONS", "5000"))
AT_ONCE = 500
# Each client asks a few times; so rates refuse a part, and the capacity of the service another.
CLIENTS = 100
MOST_GROWN_MB = 300
MOST_BROKEN = 50
# The test is the proxy in front of the service: it says whose request each is.
SETTINGS = "http: {trusted_proxies: [127.0.0.1]}\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("flood")
    repo = write_files(folder / "repo", FILES)
    config = folder / "mine.yaml"
    config.write_text(SETTINGS, encoding="utf-8")
    with until_stopped(Service(Program(folder / "state"), [repo], free_port(), "--config", str(config))) as running:
        yield running


def door_process(port: int) -> int:
    """The id of the process that listens on a port of loopback."""
    listens = next(
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        if line.split()[1] == f"0100007F:{port:04X}" and line.split()[3] == "0A"
    )
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(link.readlink()) == f"socket:[{listens}]":
                return int(link.parts[2])
        except OSError:
            continue  # it has ended, or is somebody else's
    raise AssertionError(f"no process of ours listens on {port}")


def used_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def asked(client: httpx.AsyncClient, number: int, broken: Counter[str] | None = None) -> httpx.Response:
    """The answer to a question. A connection that the service closes while it is taken up again is replaced."""
    # A connection for each: one that is kept may be closed by the service just when it is used again.
    whose = {"X-Forwarded-For": f"192.0.2.{number % CLIENTS}", "Connection": "close"}
    while True:
        try:
            return await client.post(MESSAGES, json={"message": QUESTION}, headers=whose)
        except httpx.TransportError as error:
            if broken is None or broken.total() >= MOST_BROKEN:
                raise
            broken[type(error).__name__] += 1


async def test_a_flood_is_answered_or_refused_within_bounded_memory(service: Service) -> None:
    door = door_process(service.port)
    async with client_of(service) as client:
        assert (await asked(client, QUESTIONS)).status_code == 200
        before_mb, most_mb, broken = used_mb(door), [0.0], Counter[str]()
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> httpx.Response:
            async with slots:
                reply = await asked(client, number, broken)
                most_mb[0] = max(most_mb[0], used_mb(door))
                return reply

        began_s = time.perf_counter()
        replies = await asyncio.gather(*(one(number) for number in range(QUESTIONS)))
        took_s = time.perf_counter() - began_s
        counts = Counter(reply.status_code for reply in replies)
        codes = Counter(reply.json()["code"] for reply in replies if reply.status_code >= 400)
        again = await asked(client, next(n for n, reply in enumerate(replies) if reply.status_code == 200))
    print(  # noqa: T201
        f"{QUESTIONS} questions, {AT_ONCE} at once: {dict(counts)} {dict(codes)} {dict(broken)} in {took_s:.0f} s; door"
        f" {before_mb:.0f} MB before and at most {most_mb[0]:.0f} MB; load {os.getloadavg()[0]:.1f}"
    )
    assert set(counts) <= {200, 429, 503}
    assert counts[200] >= CLIENTS
    for reply in replies:
        if reply.status_code == 200:
            assert reply.json()["citations"]
        else:
            assert int(reply.headers["retry-after"]) >= 1
            assert "jeeves-run-id" not in reply.headers
    assert again.status_code in (200, 429)
    assert most_mb[0] - before_mb < MOST_GROWN_MB
