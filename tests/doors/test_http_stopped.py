"""A service that stops with requests under way: each is told so, with its run, and streams end with an error event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.event_stream_client import streamed, whole
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site, until

COMPLETIONS = "/v1/chat/completions"
COMPLETION = {"model": "sample", "messages": [{"role": "user", "content": "hold this"}]}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, drain_s=0) as opened:
        yield opened


async def stopped_under_way(site: Site, path: str, body: dict[str, Any], **headers: str) -> Reply:
    """The answer to a request that is under way when the service stops."""
    waiting = asyncio.create_task(site.call("POST", path, body, **headers))
    await until(site.log.unfinished)
    site.stop()
    return await waiting


def is_told_that_the_run_goes_on(told: dict[str, Any], run_id: str) -> None:
    assert (told["status"], told["code"], told["run_id"]) == (503, "shutting_down", run_id)
    assert "same Idempotency-Key" in told["detail"]
    assert run_id in told["detail"]


async def test_every_answer_that_is_awaited_is_a_503_that_names_its_run(site: Site) -> None:
    waiting = [asyncio.create_task(site.ask("hold this", key=f"k{number}")) for number in range(5)]
    await until(lambda: len(site.log.unfinished()) == len(waiting))
    site.stop()
    replies = await asyncio.gather(*waiting)
    for reply in replies:
        reply.is_problem(503, "shutting_down", "goes on", run_id=reply.run_id)
        assert (reply.headers["retry-after"], reply.headers["connection"]) == ("5", "close")
        is_told_that_the_run_goes_on(reply.json, str(reply.run_id))
    assert {reply.run_id for reply in replies} == {run.run_id for run in site.log.unfinished()}


async def test_the_same_key_finds_the_run_at_the_next_service(tmp_path: Path) -> None:
    async with open_site(tmp_path, drain_s=0) as site:
        reply = await stopped_under_way(site, MESSAGES, {"message": "hold this"}, Idempotency_Key="k1")
        site.hold.set()
        await until(lambda: not site.log.unfinished())
    async with open_site(tmp_path) as site:
        again = await site.ask("hold this", key="k1")
        assert (again.status, again.run_id) == (200, reply.run_id)


@pytest.mark.long
async def test_an_answer_that_comes_while_the_service_drains_is_sent(tmp_path: Path) -> None:
    async with open_site(tmp_path, drain_s=30) as site:
        waiting = asyncio.create_task(site.ask("hold this"))
        await until(site.log.unfinished)
        site.stop()
        site.hold.set()
        assert (await waiting).status == 200


@pytest.mark.parametrize(("key", "retried"), [("", "false"), ("k1", None)])
async def test_a_completion_is_an_error_of_that_api_and_begins_no_second_run(
    site: Site, key: str, retried: str | None
) -> None:
    reply = await stopped_under_way(site, COMPLETIONS, COMPLETION, Idempotency_Key=key)
    error = reply.json["error"]
    assert (reply.status, error["type"], error["code"]) == (503, "server_error", "shutting_down")
    assert reply.run_id == error["run_id"] == site.log.unfinished()[0].run_id
    assert (reply.headers["retry-after"], reply.headers.get("x-should-retry")) == ("5", retried)


@pytest.mark.long
async def test_a_stream_ends_with_an_error_event_and_is_resumed_without_a_gap(tmp_path: Path) -> None:
    async with open_site(tmp_path, drain_s=0) as site:
        seen = []
        async with streamed(site, "hold this", key="k1") as stream:
            async for part in stream.parts():
                seen.append(part)
                if part.event == "stage.started":
                    site.stop()
        assert (seen[-1].event, seen[-1].id) == ("error", "")
        is_told_that_the_run_goes_on(seen[-1].data, stream.run_id)
        site.hold.set()
        await until(lambda: not site.log.unfinished())
    async with open_site(tmp_path) as site:
        rest = await whole(site, "hold this", key="k1", last=seen[-2].id)
        assert (rest[0].id, rest[-1].event) == (str(int(seen[-2].id) + 1), "answer")


async def test_a_stream_of_a_completion_ends_with_an_error_of_that_api(site: Site) -> None:
    reply = await stopped_under_way(site, COMPLETIONS, {**COMPLETION, "stream": True})
    assert reply.status == 200
    *_, last = [line for line in reply.body.decode().splitlines() if line.startswith("data: ")]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "shutting_down"


async def test_a_stream_of_a_run_ends_with_an_error_event(site: Site) -> None:
    run_id = (await site.ask("why", wait=True)).run_id
    streaming = asyncio.create_task(site.call("GET", f"{RUNS}/{run_id}/events", Accept="text/event-stream"))
    await until(lambda: site.service.bounds["event_streams"]["used"])
    site.stop()
    body = (await streaming).body.decode()
    assert '"code": "shutting_down"' in body[body.rindex("event: error") :]


async def test_a_request_whose_body_is_still_on_its_way_is_told_to_come_again(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    head = (
        f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    )
    writer.write(head.encode() + b'{"message": ')
    await until(site.under_way)
    site.stop()
    reply = Reply(await reader.read())
    writer.close()
    reply.is_problem(503, "shutting_down", "send the request again")
