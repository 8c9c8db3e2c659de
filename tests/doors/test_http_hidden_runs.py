"""What one caller of the HTTP service may learn of another's runs: nothing, not even that there are any."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import StateStorageError, UnknownNameError
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_run_log, open_store
from runtime.supervision.events import Event, RunRequested
from serve.http.access.callers import Caller
from serve.http.answering.service import Service
from serve.http.documents.idempotency import run_id_of_key
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site

UNKNOWN = "r-unknown"
PLACES: tuple[tuple[str, str, Any], ...] = (
    ("GET", "", None),
    ("HEAD", "", None),
    ("GET", "/answer", None),
    ("GET", "/events", None),
    ("GET", "/events?after=1", None),
    ("GET", "/events?outputs=true", None),
    ("GET", "/outputs/3", None),
    ("POST", "/cancel", {"reason": "mine"}),
    ("POST", "/pause", {}),
    ("POST", "/resume", {"text": "that"}),
    ("POST", "/interrupts/{run_id}-q1", {"text": "that"}),
    ("POST", "/interrupts/nothing", {"text": "that"}),
    ("POST", "/fork", {"at": 1}),
)


class Two:
    """A site with the tokens of two callers, and a run of the first that waits."""

    def __init__(self, site: Site, ann: str, bob: str, run_id: str) -> None:
        self.site, self.ann, self.bob, self.run_id = site, ann, bob, run_id

    async def asked(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return await self.site.call(method, path, body, Authorization=f"Bearer {token}", **headers)


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with open_site(tmp_path, told={"tokens_required": True}) as site:
        stores = open_store(site.store, SystemClock())
        ann, bob = (stores.part(TOKENS).create(name, ("ask", "watch")).text for name in ("ann", "bob"))
        stores.close()
        asked = {"message": "why", "wait": True}
        headers = {"Authorization": f"Bearer {ann}", "Idempotency_Key": "tour-1"}
        run_id = (await site.call("POST", MESSAGES, asked, **headers)).run_id
        assert run_id is not None
        yield Two(site, ann, bob, run_id)


def without_id(reply: Reply, run_id: str) -> tuple[Any, ...]:
    """All of a reply but the id that was asked for, and the time."""
    headers = {name: value for name, value in reply.headers.items() if name not in {"date", "content-length"}}
    return reply.status, headers, reply.body.decode().replace(run_id, "ID")


@pytest.mark.parametrize(("method", "place", "body"), PLACES)
async def test_the_run_of_another_is_answered_as_one_that_is_not_there(
    two: Two, method: str, place: str, body: Any
) -> None:
    replies = []
    for run_id in (two.run_id, UNKNOWN):
        path = f"{RUNS}/{run_id}{place.format(run_id=run_id)}"
        reply = await two.asked(two.bob, method, path, body)
        assert reply.status == 404
        assert reply.run_id is None
        replies.append(without_id(reply, run_id))
    assert replies[0] == replies[1]
    own = await two.asked(two.ann, "GET", f"{RUNS}/{two.run_id}")
    assert own.json["lifecycle"] == "waiting"


async def test_a_stream_of_the_events_of_another_is_not_begun(two: Two) -> None:
    reply = await two.asked(two.bob, "GET", f"{RUNS}/{two.run_id}/events", Accept="text/event-stream")
    reply.is_problem(404, "unknown_name", "there is no run")
    resumed = {"Accept": "text/event-stream", "Last_Event_ID": "1"}
    assert (await two.asked(two.bob, "GET", f"{RUNS}/{two.run_id}/events", **resumed)).status == 404


async def test_the_key_of_another_is_a_new_key(two: Two) -> None:
    asked = {"message": "why", "wait": True}
    mine = await two.asked(two.bob, "POST", MESSAGES, asked, Idempotency_Key="tour-1")
    assert (mine.status, mine.run_id) == (200, run_id_of_key("token:bob", "tour-1"))
    assert mine.run_id != two.run_id
    other = await two.asked(two.bob, "POST", MESSAGES, {"message": "Where?"}, Idempotency_Key="tour-2")
    assert other.status == 200
    guessed = run_id_of_key("token:ann", "tour-1")
    assert guessed == two.run_id
    assert (await two.asked(two.bob, "GET", f"{RUNS}/{guessed}")).status == 404
    assert [run["run_id"] for run in (await two.asked(two.ann, "GET", RUNS)).json] == [two.run_id]


async def test_the_session_of_another_is_a_new_session(two: Two) -> None:
    for token in (two.ann, two.bob):
        await two.asked(token, "POST", MESSAGES, {"message": "Where?", "session_id": "s"})
    sessions = {run.session_id for run in two.site.log.runs(10) if run.session_id}
    assert len(sessions) == 2


def recorded(site: Site, name: str, run_id: str, user_id: str) -> None:
    """Record a run of another system, in a log of its own."""
    log = open_run_log(site.store, name)
    begun = RunRequested(Request("sample", "?", user_id=user_id), config_hash="unknown rules")
    log.append("sample", Event(RunId(run_id), 1, 1, begun))
    log.close()


@pytest.mark.parametrize("owner", ["token:ann", "user:root", "local", "http:127.0.0.1"])
async def test_a_recorded_run_of_another_whose_rules_are_gone_tells_nothing_either(two: Two, owner: str) -> None:
    recorded(two.site, "one-off-0-1", "r-recorded", owner)
    recorded(two.site, "one-off-0-2", "r-mine", "token:bob")
    (await two.asked(two.bob, "GET", f"{RUNS}/r-mine")).is_problem(409, "run_state", run_id="r-mine")
    for path in (f"{RUNS}/r-recorded", f"{RUNS}/r-recorded/events"):
        reply = await two.asked(two.bob, "GET", path)
        reply.is_problem(404, "unknown_name", "there is no run 'r-recorded' of yours")


class Asked:
    """Runs of a site, and how often they were asked for an envelope."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.times = 0

    async def envelope(self, run_id: RunId) -> Envelope:
        self.times += 1
        return await self.site.envelope(run_id)


async def test_a_run_of_another_takes_the_steps_of_an_unknown_one(two: Two) -> None:
    """The system is asked as often, and then every log for a summary: where the run is stops nothing early."""
    recorded(two.site, "a-first", "r-recorded", "token:ann")
    recorded(two.site, "z-last", "r-other", "token:ann")
    bob: Any = Caller("token:bob")
    for run_id in (two.run_id, "r-recorded", "r-other", UNKNOWN):
        asked: Any = Asked(two.site)
        with pytest.raises(UnknownNameError, match=f"there is no run '{run_id}' of yours"):
            await Service(asked, two.site.service.spec).envelope(RunId(run_id), bob)
        assert asked.times == 1
    (Path(two.site.store.folder) / "runs" / "z-last.sqlite").write_bytes(b"no database" * 100)
    for run_id in (two.run_id, "r-recorded", UNKNOWN):
        with pytest.raises(StateStorageError):
            await two.site.service.envelope(RunId(run_id), bob)
