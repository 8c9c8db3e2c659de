"""Ten thousand runs given to a system of actors at once: all end, and its supervisor's memory stays within a bound."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import OverloadedError
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from tests.conformance.hosts import PIPELINES, system_spec

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1_500)]

RUNS = 10_000
RUNNING = 16
QUEUED = 9_000
MOST_GROWTH_BYTES = 256 * 2**20
LINE = PIPELINES[0]


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize()


def finished_runs(state_dir: Path) -> int:
    found = 0
    for path in (state_dir / "runs").glob("*.sqlite"):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        found += db.execute("SELECT count(*) FROM runs WHERE finished = 1").fetchone()[0]
        db.close()
    return found


async def test_a_flood_of_runs_is_worked_off_by_a_real_system(tmp_path: Path) -> None:
    import ray

    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    cluster = start_local(RaySettings(), tmp_path)
    try:
        spec = system_spec(tmp_path, (LINE,))
        spec["limits"] = {"quotas": {"running": RUNNING, "queued": QUEUED}}
        system = start_system(SystemSpec(**spec))
        await system.ready()
        supervisor: Any = ray.get_actor("supervisor", namespace="jeeves")
        pid: int = await supervisor.__ray_call__.remote(lambda _: os.getpid())
        before = resident_bytes(pid)
        refused = await flooded(system)
        at_peak = resident_bytes(pid)
        deadline_s = time.monotonic() + 1_200
        while (done := finished_runs(tmp_path)) < RUNS:
            assert time.monotonic() < deadline_s, f"{done} of {RUNS} are over"
            await asyncio.sleep(1)
        after = resident_bytes(pid)
        told = f"RSS {before >> 20} MiB, {at_peak >> 20} at the peak, {after >> 20} after; refused {refused} times"
        assert max(at_peak, after) - before < MOST_GROWTH_BYTES, told
        print(f"\n{told}")  # noqa: T201
    finally:
        cluster.shutdown()


async def flooded(system: Any) -> int:
    """Submit all runs, each again as often as the system is full; how often that was."""
    refused = 0

    async def submit(numbers: range) -> None:
        nonlocal refused
        for number in numbers:
            while True:
                try:
                    await system.submit(Request("line", f"why {number}?", metadata={"script": {"b": [{"give": {}}]}}))
                    break
                except OverloadedError as error:
                    refused += 1
                    assert error.values["retry_after_s"] > 0
                    await asyncio.sleep(1)

    await asyncio.gather(*(submit(range(start, RUNS, 32)) for start in range(32)))
    return refused
