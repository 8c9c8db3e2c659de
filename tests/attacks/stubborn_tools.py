"""Tools that do not stop: they start a family of processes that ignores SIGTERM, and then never return."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import msgspec

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageResult
from runtime.processes.programs import run_program
from runtime.run.stage_view import StageView
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

FAMILY = (
    'trap "" TERM; setsid sh -c \'trap "" TERM; echo $$ >> "$0"; while :; do sleep 1; done\' "$0" & '
    'sleep 600 & echo $! >> "$0"; echo $$ >> "$0"; wait'
)
"""A shell, its child, and a grandchild in a session of its own, which note their numbers."""
MEMBERS = 3


class Notes(msgspec.Struct, frozen=True):
    """Where the processes note their numbers."""

    notes: str


def _start_family(_subject: object, given: Notes) -> ToolResult:
    subprocess.Popen(["sh", "-c", FAMILY, given.notes])
    while True:
        time.sleep(1)


def _run_family(_subject: object, given: Notes) -> ToolResult:
    run_program(["sh", "-c", FAMILY, given.notes], cwd=Path("/"), timeout_s=600, max_output_bytes=9)
    return ToolResult("ok")


def _die(_subject: object, _given: Notes) -> ToolResult:
    raise SystemExit(3)


IN_OWN_PROCESS = Tool(
    "own_process",
    "Starts a family in a process of its own.",
    Notes,
    _start_family,
    isolation="own_process",
    reference=f"{__name__}:IN_OWN_PROCESS",
    timeout_s=600.0,
)
IN_THREAD = Tool("in_thread", "Runs a family as a program, in a thread.", Notes, _run_family, timeout_s=600.0)
DIES = Tool(
    "dies", "Ends its process.", Notes, _die, isolation="own_process", reference=f"{__name__}:DIES", timeout_s=60.0
)


async def _call(context: StageContext, view: StageView) -> StageResult:
    result = await context.tools.call(str(view.metadata["tool"]), None, {"notes": view.metadata["notes"]})
    return StageResult({"status": result.status})


CAPABILITY = Capability(
    id="stubborn",
    pipelines=("stubborn",),
    agents={"a": AgentHooks(process=_call)},
    tools=ToolRegistry([IN_OWN_PROCESS, IN_THREAD, DIES]),
    open_services=dict,
)
