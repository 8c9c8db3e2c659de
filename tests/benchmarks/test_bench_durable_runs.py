"""What a durable record for every hop costs a whole system: runs per second with it, and on a disk that never waits.

Both systems are the same but for where the run log is: on the disk, at full durability, or in memory and never waited
for. Sixteen runs are under way at any time.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.run.envelope import Request
from runtime.store.options import StoreOptions
from runtime.testing import PipelineBuilder
from tests.benchmarks.conftest import Report
from tests.faults.fault_site import Site

AT_ONCE = 16
RUNS = 160
IN_MEMORY = Path("/dev/shm")
MOST_TIMES_SLOWER = 2.0
PLAIN = (
    PipelineBuilder("plain", capability="sample").stage("a", default_next="b").stage("b", default_next="c").stage("c")
).build()


async def many_runs(system: Any) -> None:
    """`RUNS` runs of three stages, `AT_ONCE` at a time, each watched to its end."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with room:
            run_id = await system.submit(Request("plain", "?", metadata={"script": {}}))
            last = [event async for event in system.watch(run_id)][-1]
            assert last.data["terminal_reason"] == "completed"

    await asyncio.gather(*(one() for _ in range(RUNS)))


@pytest.mark.ray
@pytest.mark.timeout(600)
@pytest.mark.benchmark(group="runs")
def test_runs_with_a_durable_record_of_every_hop(benchmark: Any, held_against: Report, tmp_path: Path) -> None:
    if not IN_MEMORY.is_dir():
        pytest.skip(f"no file system in memory at {IN_MEMORY}")
    with asyncio.Runner() as loop:
        with Site(tmp_path / "durable", pipelines=(PLAIN,)) as site:
            loop.run(site.up())
            benchmark.pedantic(lambda: loop.run(many_runs(site.system)), rounds=5, warmup_rounds=1)
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            careless = msgspec.structs.replace(StoreOptions(folder), durability="normal")
            with Site(tmp_path / "careless", careless, (PLAIN,)) as site:
                loop.run(site.up())
                loop.run(many_runs(site.system))
                held_against(lambda: loop.run(many_runs(site.system)), "runs", RUNS, named="the same, log in memory")
    assert benchmark.extra_info["ratio"] <= MOST_TIMES_SLOWER
