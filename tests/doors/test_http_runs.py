"""Runs over HTTP: listed in stable pages, each one shown that is listed, paused, resumed; and whether all is ready."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import JeevesError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.store.run_log import Entry
from runtime.supervision.events import Event, RunRequested
from serve.http.answering.readiness import check_store
from serve.principals import of_http_client
from tests.doors.http_site import PIPELINE, RUNS, Site, open_site, until
from tests.runtime.hosting.hosted import Hosted

CALLER = of_http_client("127.0.0.1", (), ()).user_id


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def run_of_another_system(site: Site) -> RunId:
    """A run in the log of a command that was there for one question."""
    log = open_run_log(site.store, "one-off-0-0")
    other = Hosted(PIPELINE, {"look": [{}], "integration": [{"final_response": "elsewhere"}]}, log=log)
    envelope = await other.run("Where?", user_id=CALLER)
    await other.runner.close()
    log.close()
    return envelope.run_id


async def test_every_run_that_is_listed_is_shown(site: Site) -> None:
    elsewhere = await run_of_another_system(site)
    here = (await site.ask("Where?")).run_id
    listed = [run["run_id"] for run in (await site.call("GET", RUNS)).json]
    assert (set(listed), len(listed)) == ({elsewhere, here}, 2)
    for run_id in listed:
        for path in ("", "/events", "/answer"):
            reply = await site.call("GET", f"{RUNS}/{run_id}{path}")
            assert (reply.status, reply.run_id) == (200, run_id)
    assert (await site.call("GET", f"{RUNS}/{elsewhere}/answer")).json["answer"] == "elsewhere"
    streamed = await site.call("GET", f"{RUNS}/{elsewhere}/events", Accept="text/event-stream")
    assert b"event: run.finished" in streamed.body


@pytest.mark.parametrize("what", ["cancel", "pause", "resume", "fork", "interrupts/q"])
async def test_a_run_of_another_system_is_changed_there(site: Site, what: str) -> None:
    elsewhere = await run_of_another_system(site)
    body: dict[str, Any] = {"at": 1} if what == "fork" else {}
    reply = await site.call("POST", f"{RUNS}/{elsewhere}/{what}", body)
    reply.is_problem(409, "run_state", "not one of this service's", run_id=elsewhere)


def keep_runs(site: Site, numbers: range) -> None:
    """Runs of which several began at the same instant."""
    request = Request("sample", "?", user_id=CALLER)
    site.log.append_all(
        [Entry("sample", Event(RunId(f"r-{n:03}"), 1, 1_000 + n // 3, RunRequested(request))) for n in numbers]
    )


async def test_pages_of_the_list_have_every_run_once_whatever_begins_meanwhile(site: Site) -> None:
    keep_runs(site, range(20))
    seen: list[str] = []
    newer = 100
    path: str | None = f"{RUNS}?limit=4"
    while path is not None:
        reply = await site.call("GET", path)
        seen += [run["run_id"] for run in reply.json]
        newer += 1
        keep_runs(site, range(newer, newer + 1))
        link = re.fullmatch(r'<(.*)>; rel="next"', reply.headers.get("link", ""))
        path = link and link[1]
    assert seen == [f"r-{n:03}" for n in reversed(range(20))]


@pytest.mark.parametrize("before", ["x", "1", "~r-1", "1~", "1~r/2", "-1~r", "1~" + "r" * 101])
async def test_a_place_that_no_page_gave_is_refused(site: Site, before: str) -> None:
    (await site.call("GET", f"{RUNS}?before={before}")).is_problem(422, "bad_input", "before")


async def test_a_run_is_paused_and_resumed(site: Site) -> None:
    asking = asyncio.create_task(site.ask("hold this"))
    await until(site.log.unfinished)
    run_id = site.log.unfinished()[0].run_id
    paused = await site.call("POST", f"{RUNS}/{run_id}/pause", {"reason": "lunch"})
    assert (paused.status, paused.run_id, paused.json["interrupt"]["kind"]) == (200, run_id, "checkpoint")
    again = await site.call("POST", f"{RUNS}/{run_id}/pause")
    again.is_problem(409, "run_state", "only a run that is running can be paused", run_id=run_id)
    site.hold.set()
    assert (await site.call("POST", f"{RUNS}/{run_id}/resume")).status == 200
    assert (await asking).json["answer"] == "Answer to hold this"
    over = await site.call("POST", f"{RUNS}/{run_id}/resume")
    over.is_problem(409, "run_state", "waits for no answer", run_id=run_id)
    (await site.call("POST", f"{RUNS}/{run_id}/pause")).is_problem(409, "run_state", run_id=run_id)


async def test_resuming_answers_the_question_of_a_run(site: Site) -> None:
    run_id = (await site.ask("why", wait=True)).run_id
    (await site.call("POST", f"{RUNS}/{run_id}/resume")).is_problem(422, "bad_input", "text", run_id=run_id)
    assert (await site.call("POST", f"{RUNS}/{run_id}/resume", {"text": "that"})).run_id == run_id
    assert (await site.call("GET", f"{RUNS}/{run_id}")).json["terminal_reason"] == "completed"


async def test_it_is_ready_when_every_part_answers(site: Site) -> None:
    assert (await site.call("GET", "/ready")).json == {"status": "ready", "runs_under_way": 0}


async def test_a_dead_supervisor_an_agent_that_is_away_and_a_store_without_an_owner_are_named(site: Site) -> None:
    site.away = {"agent:sample.look": "dead", "index": "away"}
    (await site.call("GET", "/ready")).is_problem(503, "not_ready", "bus: not connected: agent:sample.look, index")
    site.away = {}
    site.log.release(site.epoch)
    (await site.call("GET", "/ready")).is_problem(503, "not_ready", "store: nobody renews the lease of service-0")
    site.is_dead = True
    (await site.call("GET", "/ready")).is_problem(503, "not_ready", "supervisor: the supervisor is gone", "store: ")
    assert (await site.call("GET", "/health")).status == 200


async def test_a_damaged_store_is_named(site: Site, tmp_path: Path) -> None:
    site.log.close()
    for part in (tmp_path / "runs").glob("service-0*"):
        part.write_bytes(b"no database at all" * 100)
    (await site.call("GET", "/ready")).is_problem(503, "not_ready", "store: ", "STATE/runs/service-0", "no database")


def test_a_store_without_a_run_log_is_not_ready(tmp_path: Path) -> None:
    with pytest.raises(JeevesError, match="no run log service-0"):
        check_store(StoreOptions(str(tmp_path)), "service")


async def test_methods_are_told_and_a_head_is_answered_without_a_body(site: Site) -> None:
    run_id = (await site.ask("Where?")).run_id
    for path, allowed in {
        "/health": "GET, HEAD, OPTIONS",
        "/api/v1/chat/messages": "OPTIONS, POST",
        f"{RUNS}/{run_id}": "GET, HEAD, OPTIONS",
        f"{RUNS}/{run_id}/cancel": "OPTIONS, POST",
    }.items():
        refused = await site.call("DELETE", path)
        refused.is_problem(405, "method_not_allowed")
        assert refused.headers["allow"] == allowed
        told = await site.call("OPTIONS", path)
        assert (told.status, told.headers["allow"], told.body) == (204, allowed, b"")
        head = await site.call("HEAD", path)
        assert (head.status, head.body) == (200 if "GET" in allowed else 405, b"")
    (await site.call("OPTIONS", "/nowhere")).is_problem(404, "not_found")
    followed = await site.call("HEAD", f"{RUNS}/{run_id}/events", Accept="text/event-stream")
    assert (followed.status, followed.headers["content-type"]) == (200, "application/json")


async def test_a_path_with_a_slash_too_many_is_not_found_and_leads_nowhere(site: Site) -> None:
    reply = await site.call("GET", f"{RUNS}/")
    assert reply.status == 404
    assert reply.json["status"] == 404


@pytest.mark.parametrize("accept", ["", "text/event-stream"])
async def test_events_follow_those_that_a_run_has_and_no_others(site: Site, accept: str) -> None:
    run_id = (await site.ask("why", wait=True)).run_id
    events = f"{RUNS}/{run_id}/events"
    last = len((await site.call("GET", events)).json["events"])
    assert (await site.call("GET", f"{events}?after={last}")).json == {"events": [], "is_over": False}
    for beyond in (last + 1, 999_999):
        for query, headers in ((f"?after={beyond}", {}), ("", {"Last_Event_ID": str(beyond)})):
            reply = await site.call("GET", events + query, Accept=accept, **headers)
            reply.is_problem(422, "bad_input", f"no event {beyond} yet", run_id=run_id)
