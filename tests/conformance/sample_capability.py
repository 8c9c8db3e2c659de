"""A capability whose agents play what the request tells them to: `metadata.script` is stage → steps.

A step is a map with one of the keys below. A stage takes one step for each visit (the last one repeats); a list in the
place of a step holds one for each attempt of that visit.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageResult
from runtime.agents.live_text import SENT_EVERY_S
from runtime.agents.stage_runner import MAX_OUTPUT_BYTES
from runtime.errors import BudgetExhaustedError, ModelFailedError, ToolFailedError
from runtime.primitives.ids import GoalId
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import StageView
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

FIRST_STAGE = "a"
GATE_POLL_S = 0.25


class Word(msgspec.Struct, frozen=True):
    """What the tools take."""

    word: str


def _echo(_subject: object, given: Word) -> ToolResult:
    if given.word == "bad":
        raise ValueError("a bad word")
    return ToolResult("ok", data={"word": given.word})


class Line(msgspec.Struct, frozen=True):
    """What is written to the end of which file."""

    file: str
    line: str


def _note(_subject: object, given: Line) -> ToolResult:
    file = os.open(given.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, f"{given.line}\n".encode())
    finally:
        os.close(file)
    return ToolResult("ok")


Step = Callable[[StageContext, Any], Awaitable[Any]]


async def _give(_context: StageContext, output: Any) -> StageResult:
    return StageResult(output)


async def _raise(_context: StageContext, text: Any) -> StageResult:
    raise ValueError(text)


async def _fail_tool(_context: StageContext, recoverable: Any) -> StageResult:
    raise ToolFailedError("the tool is broken", recoverable=recoverable)


async def _fail_model(_context: StageContext, text: Any) -> StageResult:
    raise ModelFailedError(text)


async def _spend(_context: StageContext, bound: Any) -> StageResult:
    raise BudgetExhaustedError(f"no more {bound}", bound=bound)


async def _return(_context: StageContext, value: Any) -> Any:
    return value


async def _too_big(_context: StageContext, _value: Any) -> StageResult:
    return StageResult({"text": "x" * MAX_OUTPUT_BYTES})


async def _unspeakable(_context: StageContext, _value: Any) -> StageResult:
    return StageResult({"it": object()})


async def _hang(_context: StageContext, _value: Any) -> StageResult:
    await asyncio.Event().wait()
    raise AssertionError("an event that nobody sets was set")


async def _swallow(context: StageContext, _value: Any) -> StageResult:
    """Wait for ever, and ignore every cancellation."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)


async def _block(_context: StageContext, blocked_s: Any) -> StageResult:
    """Wait until the stage is cancelled, and block the event loop from then on."""
    try:
        return await _hang(_context, None)
    finally:
        time.sleep(blocked_s)  # noqa: ASYNC251


async def _write(context: StageContext, texts: Any) -> StageResult:
    """Show one text after the other as what is being written, and then hang."""
    for text in texts:
        context.show(text)
        await context.clock.sleep(SENT_EVERY_S)
    return await _hang(context, None)


async def _exit(_context: StageContext, status: Any) -> StageResult:
    raise SystemExit(status)


async def _die(_context: StageContext, _value: Any) -> StageResult:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process outlived SIGKILL")


async def _interrupt(_context: StageContext, kind: Any) -> StageResult:
    return StageResult({"asked": True}, interrupt=InterruptRequest(kind, "Which one?"))


async def _set_goal(_context: StageContext, text: Any) -> StageResult:
    return StageResult({"set": text}, goals=GoalsPatch(add=(Goal(GoalId("g1"), text),)))


async def _call(context: StageContext, words: Any) -> StageResult:
    results = [await context.tools.call("echo", None, {"word": word}) for word in words]
    return StageResult({"statuses": [result.status for result in results]})


def _noted(_subject: object, given: Line) -> ToolResult | None:
    file = Path(given.file)
    is_there = file.exists() and given.line in file.read_text(encoding="utf-8").splitlines()
    return ToolResult("ok") if is_there else None


async def _work(context: StageContext, told: Any) -> StageResult:
    """Leave a line in the file `notes`, wait until the file `gate` is there, if one is named, and give `give`.

    `records` names a file for a line that a visit leaves once, however many attempts it takes.
    """
    key = context.key
    line = f"{key.run_id} {key.hop} {key.item} {key.attempt}"
    await context.tools.call("note", None, {"file": told["notes"], "line": line})
    # Asked here and not in a thread: a thousand stages wait at one gate.
    while "gate" in told and not Path(told["gate"]).exists():  # noqa: ASYNC240
        await context.clock.sleep(GATE_POLL_S)
    if "records" in told:
        visit = {"file": told["records"], "line": f"{key.run_id} {key.hop} {key.item} 1"}
        await context.tools.call("record", None, visit)
    return StageResult(told["give"])


STEPS: dict[str, Step] = {
    "give": _give,
    "raise": _raise,
    "fail_tool": _fail_tool,
    "fail_model": _fail_model,
    "spend": _spend,
    "return": _return,
    "too_big": _too_big,
    "unspeakable": _unspeakable,
    "hang": _hang,
    "swallow": _swallow,
    "block": _block,
    "write": _write,
    "exit": _exit,
    "die": _die,
    "interrupt": _interrupt,
    "set_goal": _set_goal,
    "call": _call,
    "work": _work,
}


def _player(stage: str) -> AgentHooks:
    async def play(context: StageContext, view: StageView) -> StageResult:
        steps = view.metadata["script"].get(stage, [{"give": {}}])
        visits = sum(count for edge, count in view.edges.items() if edge.endswith(f"->{stage}"))
        visit = visits - (stage != FIRST_STAGE)
        step = steps[min(max(visit, 0), len(steps) - 1)]
        if isinstance(step, list):
            step = step[min(context.key.attempt, len(step)) - 1]
        ((kind, value),) = step.items()
        if kind == "see":
            return StageResult({"outputs": view.outputs, "ended_by": view.ended_by, "question": view.raw_input})
        result: StageResult = await STEPS[kind](context, value)
        return result

    return AgentHooks(process=play)


CAPABILITY = Capability(
    id="sample",
    pipelines=("line", "loop", "guarded"),
    agents={stage: _player(stage) for stage in ("a", "b", "c")},
    tools=ToolRegistry(
        [
            Tool("echo", "Says it again.", Word, _echo),
            Tool("other", "Not allowed here.", Word, _echo),
            Tool("note", "Writes a line to the end of a file: an effect that can be counted.", Line, _note),
            Tool(
                "record",
                "Writes a line to the end of a file, once.",
                Line,
                _note,
                access="write",
                risk="write",
                effect="check_first",
                was_done=_noted,
            ),
        ]
    ),
    open_services=dict,
)
