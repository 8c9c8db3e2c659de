"""A question whose run is streamed: events with their numbers, resumed without a gap, the answer document last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import ClusterError, OverloadedError
from runtime.primitives.clock import SystemClock
from tests.doors.event_stream_client import Part, streamed, whole
from tests.doors.http_site import REPO, REPO_NAME, RUNS, Reply, Site, open_site, until


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def numbers(parts: list[Part]) -> list[str]:
    return [part.id for part in parts if part.id]


async def refused(site: Site, message: str, **fields: Any) -> Reply:
    """The refusal of a request for a stream."""
    headers = {name: fields.pop(name) for name in ("Last_Event_ID", "Idempotency_Key") if name in fields}
    return await site.call("POST", "/api/v1/chat/messages", {"message": message, "stream": True, **fields}, **headers)


async def test_the_events_of_the_run_are_followed_by_its_answer(site: Site) -> None:
    async with streamed(site, "Where?") as stream:
        parts = [part async for part in stream.parts()]
        assert stream.response.headers["content-type"].startswith("text/event-stream")
    *events, last = parts
    assert numbers(parts) == [str(number) for number in range(1, len(events) + 1)]
    assert (events[0].event, events[-1].event) == ("run.accepted", "run.finished")
    assert (last.event, last.id) == ("answer", "")
    answered = (await site.call("GET", f"{RUNS}/{stream.run_id}/answer")).json
    assert last.data == answered
    assert answered["answer"] == "Answer to Where?"


async def test_the_events_are_those_of_the_run(site: Site) -> None:
    parts = await whole(site, "Where?")
    run_id = parts[-1].data["run_id"]
    recorded = (await site.call("GET", f"{RUNS}/{run_id}/events")).json["events"]
    assert [part.data for part in parts[:-1]] == recorded


async def test_one_key_is_one_run_streamed_or_not(site: Site) -> None:
    parts = await whole(site, "Where?", key="k1")
    assert await whole(site, "Where?", key="k1") == parts
    assert (await site.ask("Where?", key="k1")).json == parts[-1].data
    assert len(site.log.runs(10)) == 1
    (await refused(site, "When?", Idempotency_Key="k1")).is_problem(
        422, "idempotency_key", "new key", run_id=parts[-1].data["run_id"]
    )


async def test_a_stream_is_resumed_after_any_of_its_events_without_a_gap(site: Site) -> None:
    parts = await whole(site, "Where?", key="k1")
    for place in range(len(parts)):
        assert await whole(site, "Where?", key="k1", last=str(place)) == parts[place:]


async def test_a_client_that_goes_in_mid_stream_gets_the_rest(site: Site) -> None:
    seen: list[Part] = []
    async with streamed(site, "hold this", key="k1") as stream:
        async for part in stream.parts():
            seen.append(part)
            if part.event == "stage.started":
                break
    site.hold.set()
    rest = await whole(site, "hold this", key="k1", last=seen[-1].id)
    assert numbers(seen + rest) == [str(number) for number in range(1, len(seen + rest))]
    assert rest[-1].data["answer"] == "Answer to hold this"
    assert len(site.log.runs(10)) == 1


@pytest.mark.long
async def test_the_rest_is_given_after_a_restart_of_the_service_too(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        parts = await whole(site, "Where?", key="k1")
    async with open_site(tmp_path) as site:
        assert await whole(site, "Where?", key="k1", last="2") == parts[2:]


@pytest.mark.long
async def test_a_stream_whose_run_was_dropped_is_refused_and_no_other_run_begins(site: Site, tmp_path: Path) -> None:
    await whole(site, "Where?", key="k1")
    assert site.log.drop_finished(SystemClock().now_ms())
    async with open_site(tmp_path) as after:
        late = await refused(after, "Where?", Idempotency_Key="k1", Last_Event_ID="2")
        late.is_problem(404, "unknown_name", "leave out Last-Event-ID")
        assert after.log.runs(10) == []


async def test_only_an_event_of_the_run_can_be_resumed_after(site: Site) -> None:
    parts = await whole(site, "Where?", key="k1")
    run_id, last = parts[-1].data["run_id"], len(parts) - 1
    assert await whole(site, "Where?", key="k1", last=str(last)) == parts[-1:]
    beyond = await refused(site, "Where?", Idempotency_Key="k1", Last_Event_ID=str(last + 1))
    beyond.is_problem(422, "bad_input", f"no event {last + 1}", run_id=run_id)
    for number in ("x", "-1", "9" * 16):
        reply = await refused(site, "Where?", Idempotency_Key="k1", Last_Event_ID=number)
        reply.is_problem(422, "bad_input", "Last-Event-ID")


async def test_an_event_without_a_key_names_no_run(site: Site) -> None:
    (await refused(site, "Where?", Last_Event_ID="3")).is_problem(422, "bad_input", "Idempotency-Key")
    assert site.log.runs(10) == []


async def test_the_key_of_another_caller_resumes_nothing(tmp_path: Path) -> None:
    async with open_site(tmp_path, told={"trusted_proxies": ("127.0.0.1",)}) as site:
        await whole(site, "Where?", key="k1", headers={"X-Forwarded-For": "192.0.2.1"})
        body = {"message": "Where?", "stream": True}
        headers = {"Idempotency_Key": "k1", "Last_Event_ID": "1", "X_Forwarded_For": "192.0.2.2"}
        reply = await site.call("POST", "/api/v1/chat/messages", body, **headers)
        reply.is_problem(404, "unknown_name", "no run of this Idempotency-Key")


async def test_an_idle_stream_shows_that_it_is_alive(tmp_path: Path) -> None:
    async with open_site(tmp_path, stream_alive_s=0.05) as site, streamed(site, "hold this") as stream:
        async for line in stream.response.aiter_lines():
            if line == ": alive":
                site.hold.set()
    assert site.hold.is_set()


async def test_a_run_that_waits_ends_the_stream_with_its_question_and_is_resumed_after_the_answer(site: Site) -> None:
    parts = await whole(site, "why", key="k1", wait=True)
    run_id, asked = parts[-1].data["run_id"], parts[-1].data["interrupt"]
    assert parts[-2].event == "interrupt.raised"
    assert await whole(site, "why", key="k1", wait=True) == parts
    last = parts[-2].id
    assert await whole(site, "why", key="k1", last=last, wait=True) == parts[-1:]
    assert (await site.call("POST", f"{RUNS}/{run_id}/interrupts/{asked['id']}", {"text": "that"})).status == 200
    rest = await whole(site, "why", key="k1", last=last, wait=True)
    assert (rest[0].id, rest[-2].event) == (str(int(last) + 1), "run.finished")
    assert rest[-1].data["answer"] == "Answer to why"


@pytest.mark.parametrize(
    ("message", "fields", "status", "code"),
    [
        (" ", {}, 422, "bad_question"),
        ("x", {"repo": "nowhere"}, 404, "unknown_name"),
        ("x", {"stream": "yes"}, 422, "bad_input"),
        ("x", {"session_id": "a\nb"}, 422, "bad_input"),
    ],
)
async def test_what_is_wrong_with_the_request_is_a_problem_and_no_stream(
    site: Site, message: str, fields: dict[str, Any], status: int, code: str
) -> None:
    (await refused(site, message, **fields)).is_problem(status, code)


async def test_an_error_before_the_first_byte_is_a_problem_and_frees_the_place(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_streams=1) as site:
        for _ in range(3):
            site.bug = OverloadedError("full", retry_after_s=7)
            reply = await refused(site, "Where?")
            assert reply.headers["retry-after"] == "7"
            site.bug = None
        assert (await whole(site, "Where?"))[-1].event == "answer"


@pytest.mark.parametrize(
    ("bug", "status", "code"),
    [(ClusterError("the supervisor is gone"), 503, "cluster"), (RuntimeError("a bug"), 500, "internal")],
)
async def test_an_error_after_the_first_byte_is_the_last_event(
    site: Site, bug: Exception, status: int, code: str
) -> None:
    async with streamed(site, "hold this", key="k1") as stream:
        seen = []
        async for part in stream.parts():
            seen.append(part)
            if part.event == "stage.started":
                site.bug = bug
                site.hold.set()
    assert (seen[-1].event, seen[-1].id) == ("error", "")
    assert (seen[-1].data["status"], seen[-1].data["code"]) == (status, code)
    assert seen[-1].data["run_id"] == stream.run_id
    site.bug = None
    rest = await whole(site, "hold this", key="k1", last=numbers(seen)[-1])
    assert rest[-1].data["answer"] == "Answer to hold this"


async def test_streams_have_places_and_those_of_clients_that_went_are_free_again(tmp_path: Path) -> None:
    async with open_site(tmp_path, max_streams=1) as site:
        async with streamed(site, "hold this") as stream:
            parts = stream.parts()
            await anext(parts)
            (await refused(site, "Where?")).is_problem(503, "overloaded", "event streams")
        async with asyncio.timeout(30):
            while (reply := await refused(site, "Where?")).status == 503:
                pass
        assert reply.status == 200


async def test_a_client_that_went_leaves_a_run_that_ends(site: Site) -> None:
    async with streamed(site, "hold this") as stream:
        parts = stream.parts()
        await anext(parts)
    site.hold.set()
    await until(lambda: not site.log.unfinished())
    assert (await site.call("GET", f"{RUNS}/{stream.run_id}/answer")).json["answer"] == "Answer to hold this"


async def test_no_event_names_a_folder_of_the_operator(site: Site) -> None:
    parts = await whole(site, "Where?", key="k1")
    followed = await site.call("GET", f"{RUNS}/{parts[-1].data['run_id']}/events", Accept="text/event-stream")
    assert REPO not in followed.body.decode()
    assert REPO not in str(parts)
    assert parts[-1].data["repo"] == REPO_NAME
