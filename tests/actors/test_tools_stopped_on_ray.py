"""Runs on Ray that are called off while a tool works: nothing of what the tool started is left a second later."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.cluster import start_local
from actors.system_actors import SystemSpec, start_system
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from runtime.testing import PipelineBuilder
from tests.actors.test_processes_killed import process_of
from tests.attacks.stubborn_tools import MEMBERS
from tests.conformance.hosts import system_spec
from tests.runtime.processes.living import numbers_in, until_gone

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(180)]

TOOLS = {"has_tools": True, "tool_access": "read", "allowed_tools": ["own_process", "in_thread"]}
PIPELINE = PipelineBuilder("stubborn", capability="stubborn").stage("a", timeout_s=100, **TOOLS).build()
WITHIN_S = 1.0
EACH = pytest.mark.parametrize("tool", ["own_process", "in_thread"])


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("stopped")
    cluster = start_local(RaySettings(), folder)
    spec = system_spec(folder, (PIPELINE,))
    capabilities = {"stubborn": "tests.attacks.stubborn_tools:CAPABILITY"}
    yield start_system(SystemSpec(**{**spec, "capabilities": capabilities}))
    cluster.shutdown()


async def begun(system: Any, tool: str, notes: Path, **fields: Any) -> tuple[str, list[int]]:
    """A run whose tool has started its processes, and their numbers."""
    await system.ready()
    asked = {"tool": tool, "notes": str(notes)}
    run_id = await system.submit(Request("stubborn", "?", metadata=asked, **fields))
    return run_id, await asyncio.to_thread(numbers_in, notes, MEMBERS)


@EACH
async def test_nothing_is_left_of_the_tool_of_a_run_that_is_cancelled(system: Any, tool: str, tmp_path: Path) -> None:
    run_id, numbers = await begun(system, tool, tmp_path / "numbers")
    await system.cancel(run_id, "enough")
    assert await asyncio.to_thread(until_gone, numbers, WITHIN_S) == []
    assert (await system.envelope(run_id)).terminal_reason == "user_cancelled"


@EACH
async def test_nothing_is_left_of_the_tool_of_a_run_past_its_deadline(system: Any, tool: str, tmp_path: Path) -> None:
    run_id, numbers = await begun(system, tool, tmp_path / "numbers", deadline_s=8)
    async for _ in system.watch(run_id):
        pass
    assert (await system.envelope(run_id)).terminal_reason == "deadline_exceeded"
    assert await asyncio.to_thread(until_gone, numbers, WITHIN_S) == []


async def test_nothing_is_left_of_the_tool_of_an_agent_that_is_killed(system: Any, tmp_path: Path) -> None:
    run_id, numbers = await begun(system, "own_process", tmp_path / "numbers")
    os.kill(await process_of("agent:stubborn.a"), signal.SIGKILL)
    assert await asyncio.to_thread(until_gone, numbers, WITHIN_S) == []
    await system.cancel(run_id, "enough")
