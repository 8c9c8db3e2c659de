"""Processes that are killed while runs are under way: runs end as if nothing had happened, and the next is answered."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.errors import ClusterError
from runtime.run.envelope import Request
from runtime.testing import PipelineBuilder
from tests.conformance.hosts import PIPELINES, ClusterUp, RayHost, run_through

pytestmark = [pytest.mark.ray, pytest.mark.timeout(120), pytest.mark.long]

LINE = PIPELINES[0]
TWINS = (
    PipelineBuilder("twins", capability="sample", default_run_mode="parallel")
    .stage("a")
    .stage("b", requires=["a"], foreach="outputs.a.items", replicas=2)
    .build()
)
SCRIPT: dict[str, list[Any]] = {"a": [{"call": ["x", "y"]}], "b": [{"give": {"needed": 1}}], "c": [{"see": 0}]}
ENDPOINTS = ["supervisor", "index", "store", *(f"agent:line.{stage}" for stage in "abc")]
PATIENCE_S = 60


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("killed"), (LINE, TWINS)) as running:
        yield running


def actor(name: str) -> Any:
    import ray

    return ray.get_actor(name, namespace="jeeves")


async def process_of(name: str) -> int:
    pid: int = await actor(name).__ray_call__.remote(lambda _: os.getpid())
    return pid


async def everyone_is_connected(system: Any) -> None:
    """Return when a bus, perhaps a new one, knows every endpoint again."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            endpoints = (await system.bus_stats())["endpoints"]
            missing = [name for name in ENDPOINTS if endpoints.get(name) != "connected"]
        except ClusterError as error:
            missing = [error.message]
        if not missing:
            return
        assert time.monotonic() < deadline_s, missing
        await asyncio.sleep(0.1)


def request(number: int = 0, **script: list[Any]) -> Request:
    return Request("line", f"question {number}", metadata={"script": {**SCRIPT, **script}})


async def test_runs_end_as_undisturbed_when_the_process_of_the_bus_is_killed_under_them(system: Any) -> None:
    await system.ready()
    await everyone_is_connected(system)
    undisturbed = [await run_through(RayHost(system), request(number)) for number in range(2)]
    before = await process_of("bus")
    runs = [asyncio.ensure_future(run_through(RayHost(system), request(number % 2))) for number in range(12)]
    # Each answer is a call of its own: this is no empty wait.
    while not await system.running():
        pass
    os.kill(before, signal.SIGKILL)
    ended = await asyncio.wait_for(asyncio.gather(*runs), PATIENCE_S)
    for number, run in enumerate(ended):
        assert run == undisturbed[number % 2]
    assert await process_of("bus") != before
    await everyone_is_connected(system)
    assert await run_through(RayHost(system), request()) == undisturbed[0]
    assert await system.running() == 0


async def test_a_stage_that_is_at_work_when_the_bus_is_killed_goes_on_and_reports_to_the_next_bus(system: Any) -> None:
    await everyone_is_connected(system)
    run_id = await system.submit(request(b=[{"hang": 0}]))
    async for event in system.watch(run_id):
        if event.type == "stage.started" and event.stage == "b":
            os.kill(await process_of("bus"), signal.SIGKILL)
            await everyone_is_connected(system)
            await system.cancel(run_id, "seen enough")
    envelope = await system.envelope(run_id)
    assert [(record.stage, record.attempt, record.status) for record in envelope.history] == [
        ("a", 1, "success"),
        ("b", 1, "cancelled"),
    ]
    assert (await run_through(RayHost(system), request())).reason == "completed"


async def test_a_stage_whose_process_is_killed_runs_again_beside_runs_that_notice_nothing(system: Any) -> None:
    await everyone_is_connected(system)
    undisturbed = await run_through(RayHost(system), request())
    run_id = await system.submit(request(b=[[{"hang": 0}, {"give": {"needed": 1}}]]))
    async for event in system.watch(run_id):
        if event.type == "stage.started" and (event.stage, event.data["attempt"]) == ("b", 1):
            os.kill(await process_of("agent:line.b"), signal.SIGKILL)
    envelope = await system.envelope(run_id)
    assert [(record.stage, record.attempt, record.status) for record in envelope.history] == [
        ("a", 1, "success"),
        ("b", 1, "error"),
        ("b", 2, "success"),
        ("c", 1, "success"),
    ]
    assert (envelope.terminal_reason, envelope.outputs["b"]) == ("completed", {"needed": 1})
    assert envelope.usage.agent_hops == 3
    await everyone_is_connected(system)
    assert await run_through(RayHost(system), request()) == undisturbed


async def test_a_stage_that_kills_its_process_at_once_is_given_up_after_its_fourth_death(system: Any) -> None:
    await everyone_is_connected(system)
    run_id = await system.submit(request(b=[{"die": 0}]))
    assert [event.type async for event in system.watch(run_id)][-1] == "run.finished"
    envelope = await system.envelope(run_id)
    assert [(record.stage, record.attempt, record.status) for record in envelope.history] == [
        ("a", 1, "success"),
        *(("b", attempt, "error") for attempt in (1, 2, 3, 4)),
        ("c", 1, "success"),
    ]
    await everyone_is_connected(system)
    undisturbed, survivor = await run_through(RayHost(system), request()), await process_of("agent:line.b")
    # Ray tells the bus a second late that what it handed over was lost with a process.
    over_s = time.monotonic() + 3
    while time.monotonic() < over_s:
        assert await run_through(RayHost(system), request()) == undisturbed
    assert await process_of("agent:line.b") == survivor


async def test_every_replica_of_an_agent_is_there_with_a_process_of_its_own(system: Any) -> None:
    await system.ready()
    script = {"a": [{"give": {"items": list(range(6))}}], "b": [{"give": {"x": 1}}]}
    ended = await run_through(RayHost(system), Request("twins", "?", metadata={"script": script}))
    assert (ended.reason, ended.outputs["b"]) == ("completed", {"items": [{"x": 1}] * 6})
    assert await process_of("agent:twins.b") != await process_of("agent:twins.b#2")
    assert (await system.bus_stats())["endpoints"]["agent:twins.b#2"] == "connected"
