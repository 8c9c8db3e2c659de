"""Runs tool calls: checks permission, budget and arguments, and bounds and measures their time.

A refused or failed call is a result with a status, not an exception: the stage decides how to react.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from runtime.effects.stage_effects import StageEffects
from runtime.errors import JeevesError
from runtime.run.stage_budget import StageBudget
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

log = logging.getLogger(__name__)

# The end of the error of a call that exceeds the run's bound on tool calls.
NONE_LEFT = "the run has none left"

OnCall = Callable[[str, ToolResult], Awaitable[None]]


class ToolExecutor:
    """Runs the tools that one stage may call, within its `budget` of tool calls."""

    def __init__(
        self,
        registry: ToolRegistry,
        allowed: frozenset[str],
        budget: StageBudget,
        on_call: OnCall | None = None,
        effects: StageEffects | None = None,
    ) -> None:
        """Bind the executor to a stage. With `effects`, calls of tools that write are journaled and not repeated."""
        self._effects = effects
        self._registry = registry
        self._allowed = allowed
        self._budget = budget
        self._on_call = on_call

    def describe(self) -> list[dict[str, Any]]:
        """Describe the tools that the stage may call, as JSON."""
        return [entry for entry in self._registry.describe() if entry["name"] in self._allowed]

    async def call(self, name: str, subject: object, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool in a thread; the status of the result shows whether it succeeded.

        Raises only errors that must end the attempt: EffectInDoubtError, FencedError, StateStorageError and BusError
        of the journal.
        """
        result = await self._call(name, subject, arguments)
        if self._on_call is not None:
            await self._on_call(name, result)
        return result

    async def _call(self, name: str, subject: object, arguments: dict[str, Any]) -> ToolResult:
        if name not in self._allowed:
            permitted = ", ".join(sorted(self._allowed)) or "none"
            return ToolResult("denied", error=f"tool '{name}' is not permitted for this agent; permitted: {permitted}")
        if not await self._budget.take_tool_call():
            made = self._budget.tool_calls
            return ToolResult("denied", error=f"{made} tool calls made by this stage, and {NONE_LEFT}")
        started_s = time.perf_counter()
        result = await self._run(name, subject, arguments)
        return msgspec.structs.replace(result, duration_ms=int((time.perf_counter() - started_s) * 1000))

    async def _run(self, name: str, subject: object, arguments: dict[str, Any]) -> ToolResult:
        try:
            tool = self._registry.get(name)
            parameters = tool.read_arguments(arguments)
        except JeevesError as error:
            return ToolResult("error", error=error.message)
        if tool.access == "write" and self._effects is not None:
            return await self._run_once(self._effects, tool, subject, parameters)
        return await self._run_tool(tool, subject, parameters)

    async def _run_once(
        self, effects: StageEffects, tool: Tool, subject: object, parameters: msgspec.Struct
    ) -> ToolResult:
        """Run a tool under the journal: its result, even an error, is final; after a timeout the outcome is unknown."""

        async def make() -> bytes | None:
            result = await self._run_tool(tool, subject, parameters)
            made.append(result)
            return None if result.status == "timeout" else msgspec.msgpack.encode(result)

        async def check() -> bytes | None:
            found = await asyncio.to_thread(tool.was_done, subject, parameters) if tool.was_done else None
            return None if found is None else msgspec.msgpack.encode(found)

        made: list[ToolResult] = []
        request = msgspec.msgpack.encode((tool.name, parameters))
        result = await effects.once(request, tool.effect, make, check if tool.was_done else None)
        return made[-1] if result is None else _decoded(tool, result)

    async def _run_tool(self, tool: Tool, subject: object, parameters: msgspec.Struct) -> ToolResult:
        name, limit = tool.name, None
        try:
            async with asyncio.timeout(tool.timeout_s) as limit:
                result: object = await asyncio.to_thread(tool.run, subject, parameters)
            if isinstance(result, ToolResult):
                return result
            return ToolResult("error", error=f"tool '{name}' returned a {type(result).__name__}, not a ToolResult")
        except JeevesError as error:
            return ToolResult("error", error=error.message)
        except (Exception, SystemExit) as error:
            if limit is not None and limit.expired():
                return ToolResult("timeout", error=f"tool '{name}' took longer than {tool.timeout_s:g} s")
            log.exception("tool.failed", extra={"tool": name})
            return ToolResult("error", error=f"tool '{name}' failed: {type(error).__name__}: {error}")


def _decoded(tool: Tool, data: bytes) -> ToolResult:
    """Decode a journaled result, with evidence of the type that the tool names."""
    result: ToolResult = msgspec.msgpack.decode(data, type=tool.result)
    return result
