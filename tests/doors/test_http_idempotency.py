"""A request that is repeated with its Idempotency-Key gives the run that it began; no broken connection ends one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.primitives.clock import SystemClock
from serve.http.documents.idempotency import run_id_of_key
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site, until


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def break_off(site: Site, key: str) -> None:
    """Ask, and close the connection as soon as the run is on disk."""
    body = b'{"message": "hold this"}'
    _, writer = await asyncio.open_connection("127.0.0.1", site.port)
    head = (
        f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    writer.write(f"{head}\r\nIdempotency-Key: {key}\r\n\r\n".encode() + body)
    await until(site.log.unfinished)
    writer.transport.abort()


async def test_the_run_is_named_in_a_header(site: Site) -> None:
    reply = await site.ask("Where?")
    assert reply.run_id == reply.json["run_id"]
    assert (await site.call("GET", f"{RUNS}/{reply.run_id}")).run_id == reply.run_id


async def test_the_same_key_and_body_give_the_same_run(site: Site) -> None:
    first = await site.ask("Where?", key="k1")
    again = await site.call("POST", MESSAGES, b'{ "message":"Where?" }', Idempotency_Key="k1")
    assert again.json == first.json
    assert again.run_id == first.run_id
    assert len(site.log.runs(10)) == 1


async def test_without_a_key_each_request_is_a_run(site: Site) -> None:
    assert (await site.ask("Where?")).run_id != (await site.ask("Where?")).run_id


async def test_another_body_under_the_same_key_is_refused(site: Site) -> None:
    first = await site.ask("Where?", key="k1")
    for other in ({"message": "When?"}, {"message": "Where?", "wait": True}):
        reply = await site.call("POST", MESSAGES, other, Idempotency_Key="k1")
        reply.is_problem(422, "idempotency_key", "new key", run_id=first.run_id)
    assert len(site.log.runs(10)) == 1


@pytest.mark.parametrize(("length", "status"), [(254, 200), (255, 200), (256, 422)])
async def test_a_key_may_be_just_so_long(site: Site, length: int, status: int) -> None:
    assert (await site.ask("Where?", key="k" * length)).status == status


async def test_a_key_that_is_no_text_is_refused(site: Site) -> None:
    (await site.ask("Where?", key="\xff")).is_problem(422, "bad_input", "Idempotency-Key")


@pytest.mark.parametrize("path", [MESSAGES, "/v1/chat/completions"])
@pytest.mark.parametrize("keys", [("k1", "k2"), ("k1", "k1"), ("", "k1")])
async def test_two_keys_are_refused_whatever_they_are(site: Site, path: str, keys: tuple[str, str]) -> None:
    bodies = {MESSAGES: {"message": "Where?"}}
    completion = {"model": "sample", "messages": [{"role": "user", "content": "Where?"}]}
    body = json.dumps(bodies.get(path, completion))
    told = "".join(f"Idempotency-Key: {key}\r\n" for key in keys)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    reply = Reply(await site.sends(f"{head}Content-Length: {len(body)}\r\n{told}\r\n{body}".encode()))
    assert (reply.status, b"one Idempotency-Key header, not 2" in reply.body) == (400, True)
    assert site.log.runs(10) == []


def test_the_key_of_another_caller_never_finds_the_run() -> None:
    ids = {run_id_of_key(user, key) for user, key in [("a", "b"), ("b", "a"), ("a", "a b"), ("a a", "b"), ("ab", "b")]}
    assert len(ids) == 5


async def test_many_at_once_under_one_key_are_one_run(site: Site) -> None:
    asking = [asyncio.create_task(site.ask("hold this", key="k1")) for _ in range(8)]
    await until(site.log.unfinished)
    site.hold.set()
    assert len({reply.run_id for reply in await asyncio.gather(*asking)}) == 1
    assert len(site.log.runs(10)) == 1


async def test_a_connection_that_breaks_costs_no_answer(site: Site) -> None:
    await break_off(site, "k1")
    (running,) = site.log.unfinished()
    (await site.call("GET", f"{RUNS}/{running.run_id}/answer")).is_problem(
        409, "run_state", "no answer yet", run_id=running.run_id
    )
    site.hold.set()
    reply = await site.ask("hold this", key="k1")
    assert (reply.run_id, reply.json["answer"]) == (running.run_id, "Answer to hold this")
    assert (await site.call("GET", f"{RUNS}/{running.run_id}/answer")).json == reply.json
    assert (await site.call("GET", f"{RUNS}/{running.run_id}")).json["terminal_reason"] == "completed"


async def test_the_places_of_those_that_broke_off_are_free_again(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_asked=1) as site:
        await break_off(site, "k1")
        async with asyncio.timeout(30):
            while (reply := await site.ask("Where?", key="k2")).status == 503:
                pass
        assert reply.status == 200


async def test_a_key_is_known_to_the_system_that_comes_after(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        before = await site.ask("Where?", key="k1")
    async with open_site(tmp_path) as site:
        assert (await site.ask("Where?", key="k1")).json == before.json
        (await site.ask("When?", key="k1")).is_problem(422, "idempotency_key", run_id=before.run_id)
        assert len(site.log.runs(10)) == 1


async def test_a_key_is_forgotten_with_its_run(site: Site, tmp_path: Path) -> None:
    await site.ask("Where?", key="k1")
    assert site.log.drop_finished(SystemClock().now_ms())
    async with open_site(tmp_path) as after:
        assert (await after.ask("When?", key="k1")).json["answer"] == "Answer to When?"


async def test_a_run_that_takes_too_long_is_a_504_that_names_it_and_goes_on(tmp_path: Path) -> None:
    async with open_site(tmp_path, answer_timeout_s=0.1) as site:
        reply = await site.ask("hold this")
        (running,) = site.log.unfinished()
        reply.is_problem(504, "answer_timeout", running.run_id, "goes on", run_id=running.run_id)
        site.hold.set()
        async with asyncio.timeout(30):
            while (answer := await site.call("GET", f"{RUNS}/{running.run_id}/answer")).status == 409:
                pass
        assert answer.json["answer"] == "Answer to hold this"


async def test_an_error_once_there_is_a_run_names_it(site: Site) -> None:
    asking = asyncio.create_task(site.ask("hold this"))
    await until(site.log.unfinished)
    (running,) = site.log.unfinished()
    site.bug = RuntimeError("a bug")
    site.hold.set()
    (await asking).is_problem(500, "internal", "RuntimeError", run_id=running.run_id)
