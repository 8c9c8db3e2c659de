"""Ten thousand runs at once: all of them end, few are under way at a time, and memory stays within a stated bound."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runtime.agents.capability import StageResult
from runtime.errors import OverloadedError
from runtime.hosting.limits.admission import Quotas
from runtime.run.envelope import Request
from runtime.store.run_log import SqliteRunLog
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.hosted import Hosted

RUNS = 10_000
RUNNING = 16

# What docs/store.md states: so many runs that wait, and the last thousand of those that are over.
MOST_GROWTH_BYTES = 160 * 2**20
PIPELINE = PipelineBuilder().stage("a").build()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize()


@pytest.mark.long
async def test_a_flood_of_runs_ends_within_the_quotas_and_within_a_bound_of_memory(tmp_path: Path) -> None:
    log = SqliteRunLog(tmp_path / "runs.sqlite", "normal")
    doors_open, under_way = asyncio.Event(), 0
    max_in_flight = 0

    async def work(_context: Any, _view: Any) -> StageResult:
        nonlocal under_way, max_in_flight
        under_way += 1
        max_in_flight = max(max_in_flight, under_way)
        await doors_open.wait()
        under_way -= 1
        return StageResult({"x": 1})

    hosted = Hosted(PIPELINE, {"a": [work]}, quotas=Quotas(running=RUNNING, queued=RUNS - RUNNING), log=log)
    before = resident_bytes()
    run_ids = [await hosted.runner.submit(Request("sample", f"question {number}")) for number in range(RUNS)]
    with pytest.raises(OverloadedError) as refused:
        await hosted.runner.submit(Request("sample", "one too many"))
    assert refused.value.values["retry_after_s"] > 0
    for _ in range(100):
        await asyncio.sleep(0)
    at_peak = resident_bytes()
    assert under_way == RUNNING
    doors_open.set()
    while len(log.unfinished()):
        for _ in range(2_000):
            await asyncio.sleep(0)
    after = resident_bytes()
    ends = Counter(run.terminal_reason for run in log.runs(RUNS + 1))
    assert ends == {"completed": RUNS}
    assert (len(set(run_ids)), max_in_flight) == (RUNS, RUNNING)
    assert at_peak - before < MOST_GROWTH_BYTES
    assert after - before < MOST_GROWTH_BYTES
    print(f"\nRSS: {before >> 20} MiB before, {at_peak >> 20} with all submitted, {after >> 20} after")  # noqa: T201
    await hosted.runner.close()
    log.close()
