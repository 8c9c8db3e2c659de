"""Stages that ignore their cancellation: their process ends, and only what did not stop is given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.processes.stop_watchdog import STOP_PATIENCE_S
from runtime.run.envelope import Request
from runtime.testing import PipelineBuilder
from tests.actors.test_processes_killed import process_of
from tests.conformance.hosts import ClusterUp

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(180)]

ALONE = (
    PipelineBuilder("alone", capability="sample")
    .stage("a", has_tools=True, tool_access="all", allowed_tools=["note"])
    .build()
)
PATIENCE_S = 60


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("stuck"), (ALONE,)) as running:
        yield running


def request(*steps: Any) -> Request:
    return Request("alone", "question", metadata={"script": {"a": [list(steps)]}})


async def started(system: Any, run_id: str, attempt: int = 1) -> None:
    async for event in system.watch(run_id):
        if event.type == "stage.started" and event.data["attempt"] == attempt:
            return
    raise AssertionError("the run ended before its stage began")


async def ended(system: Any, run_id: str) -> Any:
    async for _ in system.watch(run_id):
        pass
    return await system.envelope(run_id)


async def current_process() -> int | None:
    from ray.exceptions import RayError

    try:
        return await asyncio.wait_for(process_of("agent:alone.a"), PATIENCE_S)
    except RayError:
        return None  # it is being restarted


async def another_process(before: int) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while await current_process() in {before, None}:
        assert time.monotonic() < deadline_s, "the process goes on"
        await asyncio.sleep(0.1)


async def test_a_hook_that_ignores_its_cancellation_costs_its_process_and_no_other_run(
    system: Any, tmp_path: Path
) -> None:
    await system.ready()
    gate, notes = tmp_path / "gate", tmp_path / "notes"
    work = {"work": {"notes": str(notes), "gate": str(gate), "give": {"done": True}}}
    stuck, innocent = [await system.submit(request(step)) for step in ({"swallow": 0}, work)]
    await asyncio.gather(started(system, stuck), started(system, innocent))
    before = await process_of("agent:alone.a")
    told_s = time.monotonic()
    await system.cancel(stuck, "enough")
    await asyncio.wait_for(started(system, innocent, attempt=2), PATIENCE_S)
    assert time.monotonic() - told_s >= STOP_PATIENCE_S
    await another_process(before)
    gate.touch()
    envelope = await ended(system, innocent)
    assert (envelope.terminal_reason, envelope.outputs["a"]) == ("completed", {"done": True})
    assert envelope.usage.agent_hops == 1
    given_up = await ended(system, stuck)
    assert given_up.terminal_reason == "user_cancelled"
    assert [(record.attempt, record.status) for record in given_up.history] == [(1, "cancelled")]
    now = await process_of("agent:alone.a")
    assert (await ended(system, await system.submit(request({"give": {}})))).terminal_reason == "completed"
    assert await process_of("agent:alone.a") == now


async def test_a_hook_that_blocks_the_event_loop_when_it_is_cancelled_costs_its_process(system: Any) -> None:
    await system.ready()
    stuck = await system.submit(request({"block": 600}))
    await started(system, stuck)
    before = await process_of("agent:alone.a")
    await system.cancel(stuck, "enough")
    await another_process(before)
    assert (await ended(system, stuck)).terminal_reason == "user_cancelled"


async def test_a_hook_that_outlives_the_timeout_of_its_stage_costs_its_process(system: Any) -> None:
    await system.ready()
    before = await process_of("agent:alone.a")
    run = Request("alone", "question", metadata={"script": {"a": [{"swallow": 0}]}}, deadline_s=6)
    stuck = await system.submit(run)
    await started(system, stuck)
    assert (await ended(system, stuck)).terminal_reason == "deadline_exceeded"
    await another_process(before)
