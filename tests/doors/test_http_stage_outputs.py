"""Callers that want them get what each stage gave out: with its event or, if it is large, by the event's number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from serve.stage_outputs import MAX_SENT_BYTES
from tests.doors.event_stream_client import Part, streamed, whole
from tests.doors.http_site import MESSAGES, REPO, REPO_NAME, RUNS, Site, open_site, until

FRAME_BYTES = len('{"found":""}')


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def ends(parts: list[Part]) -> list[dict[str, Any]]:
    """The data of the events that tell of the end of a stage."""
    return [part.data["data"] for part in parts if part.event == "stage.finished"]


async def test_a_stream_carries_the_output_of_each_stage_if_they_are_wanted(site: Site) -> None:
    parts = await whole(site, "give 9", outputs=True)
    assert [end["output"] for end in ends(parts)] == [
        {"found": "x" * 9},
        {"final_response": "Answer to give 9", "citations": []},
    ]
    assert all("output" not in part.data["data"] for part in parts[:-1] if part.event != "stage.finished")
    plain = await whole(site, "give 9")
    assert all({"output", "output_bytes"}.isdisjoint(end) for end in ends(plain))


async def test_the_events_of_a_run_have_them_as_json_and_as_a_stream(site: Site) -> None:
    parts = await whole(site, "give 9", outputs=True)
    run_id = parts[-1].data["run_id"]
    listed = (await site.call("GET", f"{RUNS}/{run_id}/events?outputs=true")).json["events"]
    assert listed == [part.data for part in parts[:-1]]
    followed = await site.call("GET", f"{RUNS}/{run_id}/events?outputs=true", Accept="text/event-stream")
    assert [json.loads(line[6:]) for line in followed.body.decode().splitlines() if line[:5] == "data:"] == listed
    without = (await site.call("GET", f"{RUNS}/{run_id}/events?outputs=false")).json["events"]
    assert without == (await site.call("GET", f"{RUNS}/{run_id}/events")).json["events"] != listed


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_an_output_beyond_64_kib_stays_behind_and_is_fetched(site: Site, more: int) -> None:
    chars = MAX_SENT_BYTES - FRAME_BYTES + more
    parts = await whole(site, f"give {chars}", outputs=True)
    run_id, first = parts[-1].data["run_id"], next(part for part in parts if part.event == "stage.finished")
    told = first.data["data"]
    assert told.get("output_bytes") == (MAX_SENT_BYTES + 1 if more > 0 else None)
    assert ("output" in told) == (more <= 0)
    fetched = await site.call("GET", f"{RUNS}/{run_id}/outputs/{first.id}")
    assert (fetched.status, fetched.json) == (200, {"found": "x" * chars})


async def test_a_client_that_comes_back_gets_the_outputs_of_the_rest(site: Site) -> None:
    seen: list[Part] = []
    async with streamed(site, "hold this, give 3", key="k1", outputs=True) as stream:
        async for part in stream.parts():
            seen.append(part)
            if part.event == "stage.started":
                break
    site.hold.set()
    rest = await whole(site, "hold this, give 3", key="k1", last=seen[-1].id, outputs=True)
    assert [end["output"].get("found") for end in ends(rest)] == ["xxx", None]


async def test_the_same_key_is_the_same_run_with_outputs_or_without(site: Site) -> None:
    first = await whole(site, "Where?", key="k1", outputs=True)
    second = await whole(site, "Where?", key="k1")
    assert first[-1].data["run_id"] == second[-1].data["run_id"]


async def test_only_the_ends_of_stages_with_a_result_have_an_output(site: Site) -> None:
    parts = await whole(site, "fail", outputs=True)
    run_id = parts[-1].data["run_id"]
    assert all("output" not in end for end in ends(parts) if end["status"] != "success")
    for number in (1, len(parts), 999):
        reply = await site.call("GET", f"{RUNS}/{run_id}/outputs/{number}")
        reply.is_problem(404, "unknown_name", f"event {number} of run", run_id=run_id)
    unknown = await site.call("GET", f"{RUNS}/r-unknown/outputs/1")
    unknown.is_problem(404, "unknown_name", "no run")


@pytest.mark.parametrize("place", ["outputs/0", "outputs/-1", "outputs/x", f"outputs/{2**53 + 1}", "events?outputs=1"])
async def test_what_is_no_number_and_no_flag_is_refused(site: Site, place: str) -> None:
    run_id = (await site.ask("Where?")).run_id
    (await site.call("GET", f"{RUNS}/{run_id}/{place}")).is_problem(422, "bad_input", run_id=None)


async def test_outputs_without_a_stream_are_refused(site: Site) -> None:
    reply = await site.call("POST", MESSAGES, {"message": "Where?", "outputs": True})
    reply.is_problem(422, "bad_input", "outputs", "stream")
    assert site.log.runs(10) == []


async def test_an_output_shows_no_path_of_the_machine(site: Site) -> None:
    parts = await whole(site, f"give path of {REPO}/a.py", outputs=True)
    assert ends(parts)[0]["output"] == {"found": f"{REPO_NAME}/a.py"}
    number = next(part.id for part in parts if part.event == "stage.finished")
    fetched = await site.call("GET", f"{RUNS}/{parts[-1].data['run_id']}/outputs/{number}")
    assert fetched.json == {"found": f"{REPO_NAME}/a.py"}


async def test_many_streams_at_once_each_have_the_outputs_of_their_run(site: Site) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(whole(site, f"give {number}", outputs=True)) for number in range(1, 9)]
    await until(lambda: all(task.done() for task in tasks))
    found = [len(ends(task.result())[0]["output"]["found"]) for task in tasks]
    assert found == list(range(1, 9))
