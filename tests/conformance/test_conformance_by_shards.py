"""The conformance suite on three supervisors, among which runs are divided by their ids, each with a log of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from actors.addresses import supervisor_addresses
from runtime.run.envelope import Request
from tests.conformance import test_conformance
from tests.conformance.hosts import ClusterUp, Host, RayHost

pytestmark = [pytest.mark.ray, pytest.mark.long]

SHARDS = 3
RUNS = 40

local = test_conformance.local
globals().update({name: test for name, test in vars(test_conformance).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("by-shards"), shards=SHARDS) as running:
        yield running


@pytest.fixture
async def host(system: Any) -> Host:
    await system.ready()
    return RayHost(system)


async def test_each_supervisor_drives_a_part_of_the_runs_and_every_run_has_one(system: Any) -> None:
    import ray

    await system.ready()
    request = Request("line", "?", metadata={"script": {}})
    run_ids = await asyncio.gather(*(system.submit(request) for _ in range(RUNS)))
    shards = [ray.get_actor(name, namespace="jeeves") for name in supervisor_addresses(SHARDS)]
    drives: list[list[bool]] = [
        await asyncio.gather(*(shard.drives.remote(run_id) for shard in shards)) for run_id in run_ids
    ]
    assert all(sum(each) == 1 for each in drives)
    assert all(any(of_shard) for of_shard in zip(*drives, strict=True))
