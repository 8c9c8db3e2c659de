"""Limits over the processes of a real system: two supervisors, several agents, and a store that is killed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runtime.errors import RateLimitedError
from runtime.memory.usage_log import USAGE
from runtime.pipeline.config import as_wire
from runtime.primitives.clock import SystemClock
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from runtime.store.opening import open_store
from runtime.store.options import StoreOptions
from runtime.testing import PipelineBuilder
from tests.conformance.hosts import PIPELINES, system_spec
from tests.runtime.llm.endpoint import Endpoint, deployment_at, says

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(180)]

FLOODER, OTHER, ANN = "address:192.0.2.1", "address:192.0.2.2", "user:ann"
LINE = PIPELINES[0]
NO_RATES: dict[str, Any] = dict.fromkeys(("per_minute", "per_hour", "per_day", "burst"))
CAPABILITY = "tests.actors.calling_capability:CAPABILITY"


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[Any]:
    """Starts a system from the fields of its description."""
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    cluster = start_local(RaySettings(), tmp_path)

    async def start(**fields: Any) -> Any:
        system = start_system(SystemSpec(**{**system_spec(tmp_path, (LINE,)), **fields}))
        await system.ready()
        return system

    yield start
    cluster.shutdown()


def question(number: int, user_id: str) -> Request:
    script = {"b": [{"give": {"needed": 1}}], "c": [{"give": {"sure": True}}]}
    return Request("line", f"why {number}?", user_id=user_id, metadata={"script": script})


async def until_kept(state_dir: Path, user_id: str, requests: int) -> None:
    """Return once the store has so many requests of a user: they are written every few seconds."""
    store = open_store(StoreOptions(folder=str(state_dir)), SystemClock())
    try:
        usage = store.part(USAGE)
        deadline_s = time.monotonic() + 60
        while usage.totals(0).get(user_id, {}).get("requests") != requests:
            assert time.monotonic() < deadline_s, usage.totals(0)
            await asyncio.sleep(0.1)
    finally:
        store.close()


async def over(system: Any, run_id: Any) -> str:
    async for _ in system.watch(run_id):
        pass
    return str(run_id)


async def test_rates_hold_over_replicas_and_after_the_process_that_counts_was_killed(
    started: Any, tmp_path: Path
) -> None:
    import ray

    system = await started(shards=2, limits={"rates": {**NO_RATES, "per_day": 5}})
    for _ in range(5):
        await system.take(FLOODER, "chat")
    with pytest.raises(RateLimitedError) as refused:
        await system.take(FLOODER, "chat")
    assert 86_000 < refused.value.values["retry_after_s"] <= 86_400
    await system.take(OTHER, "chat")
    for _ in range(9):
        await system.take(ANN, "chat")
    await until_kept(tmp_path, FLOODER, 5)
    ray.kill(ray.get_actor("store", namespace="jeeves"), no_restart=False)
    with pytest.raises(RateLimitedError):
        await system.take(FLOODER, "chat")
    await system.take(OTHER, "chat")


async def test_behind_a_flood_of_one_client_another_waits_for_one_run_on_each_supervisor(started: Any) -> None:
    system = await started(shards=1, limits={"quotas": {"running": 1}})
    # The first keeps the others waiting until the late one has come, however long it takes to submit them.
    holding = await system.submit(Request("line", "why?", user_id=ANN, metadata={"script": {"a": [{"hang": 0}]}}))
    flood = [await system.submit(question(number, FLOODER)) for number in range(30)]
    late = await system.submit(question(99, OTHER))
    await system.cancel(holding, "all have come")
    ended: list[str] = []

    async def follow(run_id: Any) -> None:
        ended.append(await over(system, run_id))

    await asyncio.gather(*(follow(run_id) for run_id in (*flood, late)))
    finished = {run_id: (await system.envelope(run_id)).finished_at_ms for run_id in (*flood, late)}
    before = [run_id for run_id in flood if finished[run_id] < finished[late]]
    assert len(before) < len(flood) / 2, f"{len(before)} of {len(flood)} runs of the flood ended before"


ANSWER = says("well said", usage={"prompt_tokens": 4, "completion_tokens": 2})


async def slowly(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    await asyncio.sleep(0.2)
    return await ANSWER(request, body)


async def test_agents_of_all_processes_make_as_many_calls_at_once_as_the_endpoint_permits(
    started: Any,
) -> None:
    config = (
        PipelineBuilder("calling", default_run_mode="parallel", max_llm_calls=8)
        .stage("a", has_llm=True, model_role="m")
        .stage("b", has_llm=True, model_role="m")
        .build()
    )
    endpoint = Endpoint(slowly)
    await endpoint.start()
    deployment = deployment_at(endpoint.url, silence_timeout_s=30, concurrent=2).model_dump(mode="json")
    models = {"deployments": {"main": deployment}, "roles": {"default": {"deployment": "main"}}}
    try:
        system = await started(
            pipelines=[as_wire(config)],
            capabilities={config.name: CAPABILITY},
            reasoner="llm",
            settings={"models": models, "config_folders": []},
        )
        began_s = time.perf_counter()
        runs = [await system.submit(Request("calling", f"what {number}?", user_id=FLOODER)) for number in range(8)]
        await asyncio.gather(*(over(system, run_id) for run_id in runs))
        print(f"\n16 calls over 2 processes: {endpoint.most_at_work} at once, {time.perf_counter() - began_s:.1f} s")  # noqa: T201
        reasons = {(await system.envelope(run_id)).terminal_reason for run_id in runs}
    finally:
        await endpoint.stop()
    assert reasons == {"completed"}
    assert endpoint.most_at_work == 2
    assert await system.model_places() == {}
