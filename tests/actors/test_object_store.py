"""An object store without room: what a caller is told, and that runs go on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ObjectStoreFullError, OutOfDiskError, RayTaskError

from actors.actor_calls import call_actor
from runtime.errors import ClusterError
from runtime.run.envelope import Request
from runtime.testing import PipelineBuilder
from tests.conformance.hosts import system_spec
from tests.doors.program import TREE
from tests.doors.ray_head import RayHead

NO_DISK = '{"automatic_object_spilling_enabled": false, "local_fs_capacity_threshold": 0.0001}'
IDLE = "tests.benchmarks.idle_capability:CAPABILITY"
PIPELINE = PipelineBuilder("short", capability="idle").stage("a", default_next="b").stage("b").build()
LARGE = "x" * 300_000
# Holds what fills the store until its input ends.
FILL = """
import sys, ray
ray.init(address=sys.argv[1], namespace="other", log_to_driver=False)
held = []
for bytes_ in (4_000_000, 400_000, 110_000):
    try:
        while True:
            held.append(ray.put(b"x" * bytes_))
    except (ray.exceptions.OutOfDiskError, ray.exceptions.ObjectStoreFullError):
        pass
print("full", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", [OutOfDiskError, ObjectStoreFullError])
@pytest.mark.parametrize("is_of_result", [False, True], ids=["arguments", "result"])
async def test_a_call_without_room_for_its_values_says_what_to_do(kind: type[Exception], is_of_result: bool) -> None:
    full = kind("Local disk is full\nThe object cannot be created")

    async def call() -> None:
        raise RayTaskError("envelope", "traceback", full) if is_of_result else full  # type: ignore[no-untyped-call]

    with pytest.raises(ClusterError, match=r"object store .* no room .*`ray memory`.*bus.links") as told:
        await call_actor(call)
    assert told.value.__cause__ is not None


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("links", [True, False], ids=["links", "ray_calls"])
def test_runs_go_on_beside_a_full_object_store(links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By links, large values as well; by Ray calls, they are refused until there is room again."""
    from actors.cluster import attach
    from actors.system_actors import SystemSpec, start_system

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with RayHead({**os.environ, **TREE}, "--system-config", NO_DISK) as head:
        command = [sys.executable, "-c", FILL, f"127.0.0.1:{head.gcs_port}"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=head.environment
        ) as other:
            assert other.stdin is not None and other.stdout is not None
            assert other.stdout.readline() == "full\n"
            with attach(f"127.0.0.1:{head.gcs_port}"), asyncio.Runner() as loop:
                told = system_spec(tmp_path, (PIPELINE,)) | {"capabilities": {PIPELINE.name: IDLE}, "links": links}
                system = start_system(SystemSpec(**told))
                loop.run(system.ready())
                assert loop.run(ends(system, "small"))
                if links:
                    assert loop.run(ends(system, LARGE))
                else:
                    with pytest.raises(ClusterError, match="no room"):
                        loop.run(ends(system, LARGE))
                    other.stdin.close()
                    other.wait(60)
                    assert loop.run(ends(system, LARGE))


async def ends(system: Any, text: str) -> bool:
    """Make a run with that request to its end."""
    async with asyncio.timeout(60):
        run_id = await system.submit(Request(PIPELINE.name, text))
        return bool([event async for event in system.watch(run_id)][-1].data["terminal_reason"] == "completed")
