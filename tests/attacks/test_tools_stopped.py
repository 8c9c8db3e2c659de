"""Tool calls that are called off: nothing of what the tool started is left a second later, however it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import Tool, ToolRegistry
from tests.attacks.stubborn_tools import DIES, IN_OWN_PROCESS, IN_THREAD, MEMBERS
from tests.runtime.processes.living import has_noted, numbers_in, until_gone

WITHIN_S = 1.0
EACH = pytest.mark.parametrize("tool", [IN_OWN_PROCESS, IN_THREAD], ids=lambda tool: tool.name)


def executor(*tools: Tool) -> ToolExecutor:
    return ToolExecutor(ToolRegistry(tools), frozenset(tool.name for tool in tools), StageBudget(Grant(tool_calls=9)))


def arguments(tmp_path: Path) -> dict[str, Any]:
    return {"notes": str(tmp_path / "numbers")}


@EACH
async def test_nothing_is_left_of_a_call_that_is_cancelled(tool: Tool, tmp_path: Path) -> None:
    calling = asyncio.ensure_future(executor(tool).call(tool.name, None, arguments(tmp_path)))
    numbers = await asyncio.to_thread(numbers_in, tmp_path / "numbers", MEMBERS)
    calling.cancel()
    assert await asyncio.to_thread(until_gone, numbers, WITHIN_S) == []
    with pytest.raises(asyncio.CancelledError):
        await calling


@pytest.mark.long
@EACH
async def test_nothing_is_left_of_a_call_that_takes_too_long(tool: Tool, tmp_path: Path) -> None:
    for timeout_s in (2, 8, 32):
        notes = tmp_path / f"numbers within {timeout_s} s"
        slow = msgspec.structs.replace(tool, timeout_s=float(timeout_s))
        result = await executor(slow).call(tool.name, None, {"notes": str(notes)})
        assert (result.status, result.error) == ("timeout", f"tool '{tool.name}' took longer than {timeout_s} s")
        if has_noted(notes, MEMBERS):
            break
    assert until_gone(numbers_in(notes, MEMBERS), WITHIN_S) == []


PROGRAM = """
import asyncio, sys
from tests.attacks.stubborn_tools import IN_OWN_PROCESS
from tests.attacks.test_tools_stopped import executor
asyncio.run(executor(IN_OWN_PROCESS).call("own_process", None, {"notes": sys.argv[1]}))
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_call_whose_caller_dies(tmp_path: Path, ending: signal.Signals) -> None:
    notes = tmp_path / "numbers"
    caller = subprocess.Popen([sys.executable, "-c", PROGRAM, str(notes)], stderr=subprocess.DEVNULL)
    numbers = numbers_in(notes, MEMBERS)
    caller.send_signal(ending)
    caller.wait(30)
    assert until_gone(numbers, WITHIN_S) == []


async def test_a_tool_that_ends_its_process_is_an_error_result_and_the_next_call_works(tmp_path: Path) -> None:
    calls = executor(DIES, IN_OWN_PROCESS)
    result = await calls.call("dies", None, arguments(tmp_path))
    assert (result.status, result.at_fault) == ("error", "tool")
    assert "tool 'dies' failed" in str(result.error)
    calling = asyncio.ensure_future(calls.call("own_process", None, arguments(tmp_path)))
    numbers = await asyncio.to_thread(numbers_in, tmp_path / "numbers", MEMBERS)
    calling.cancel()
    assert await asyncio.to_thread(until_gone, numbers, WITHIN_S) == []
