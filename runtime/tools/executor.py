"""Runs tool calls: checks permission, breaker, budget and arguments, and bounds and measures their time.

A refused or failed call is a result with a status, not an exception: the stage decides how to react. A call that takes
too long or is cancelled stops: its process is killed, or its thread is called off with the programs that it started.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal

import msgspec

from runtime.effects.stage_effects import StageEffects
from runtime.errors import (
    InputError,
    JeevesError,
    ProcessCallError,
    ProcessDiedError,
    ProcessMemoryError,
    ProcessTimeoutError,
)
from runtime.processes.call_scope import CallScope, run_in
from runtime.run.stage_budget import StageBudget
from runtime.tools.breakers import Admission
from runtime.tools.health import Ending
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult
from runtime.tools.tool_host import ToolHost, scope_of

log = logging.getLogger(__name__)

# The end of the error of a call that exceeds the run's bound on tool calls.
NONE_LEFT = "the run has none left"
# Part of the error of a call that the tool's breaker refuses.
BREAKER_OPEN = "failed five times in five minutes here and is not called for now"

OnCall = Callable[[str, ToolResult], Awaitable[None]]

_CALLS = itertools.count(1)


class ToolExecutor:
    """Runs the tools that one stage may call, within its `budget` of tool calls."""

    def __init__(
        self,
        registry: ToolRegistry,
        allowed: frozenset[str],
        budget: StageBudget,
        on_call: OnCall | None = None,
        effects: StageEffects | None = None,
        host: ToolHost | None = None,
    ) -> None:
        """Bind the executor to a stage. With `effects`, calls of tools that write are journaled and not repeated.

        `host` holds what the calls of one agent share; without it the executor has one of its own.
        """
        self._effects = effects
        self._host = host or ToolHost()
        self._registry = registry
        self._allowed = allowed
        self._budget = budget
        self._on_call = on_call

    def describe(self) -> list[dict[str, Any]]:
        """Describe the tools that the stage may call, as JSON."""
        return [entry for entry in self._registry.describe() if entry["name"] in self._allowed]

    def warm_up(self, names: Iterable[str]) -> None:
        """Start the process of tools that will be called in one of their own, so that the call need not wait."""
        tools = [tool for tool in self._registry if tool.name in names and tool.isolation == "own_process"]
        self._host.processes.warm_up(tools)

    async def call(self, name: str, subject: object, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; the status of the result shows whether it succeeded. Cancellation stops the call.

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
        scope = scope_of(subject)
        admission = self._host.breakers.admit(name, scope)
        if not admission.is_admitted:
            return ToolResult("denied", error=_refusal(name, admission), at_fault="request")
        ending: Ending = "neither"
        try:
            if not await self._budget.take_tool_call():
                made = self._budget.tool_calls
                return ToolResult("denied", error=f"{made} tool calls made by this stage, and {NONE_LEFT}")
            started_s = time.perf_counter()
            result = await self._run(name, subject, arguments)
            result = msgspec.structs.replace(result, duration_ms=int((time.perf_counter() - started_s) * 1000))
            if result.at_fault == "tool":
                ending = "error" if result.is_failure else "success"
                self._host.count(name, scope, result)
            return result
        finally:
            self._host.breakers.record(name, scope, admission.number, ending)

    async def _run(self, name: str, subject: object, arguments: dict[str, Any]) -> ToolResult:
        try:
            tool = self._registry.get(name)
            parameters = tool.read_arguments(arguments)
        except JeevesError as error:
            return ToolResult("error", error=error.message, at_fault="request")
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
            if tool.isolation == "own_process":
                return await self._host.processes.run(tool, subject, parameters)
            async with asyncio.timeout(tool.timeout_s) as limit:
                result: object = await self._in_thread(tool, subject, parameters)
            if isinstance(result, ToolResult):
                return result
            return ToolResult("error", error=f"tool '{name}' returned a {type(result).__name__}, not a ToolResult")
        except ProcessTimeoutError:
            return _took_too_long(tool)
        except (ProcessCallError, ProcessDiedError, ProcessMemoryError) as error:
            log.error("tool.failed", extra={"tool": name, **error.values})
            return ToolResult("error", error=f"tool '{name}' failed: {error.values.get('problem') or error.message}")
        except JeevesError as error:
            return ToolResult("error", error=error.message, at_fault=_at_fault(error))
        except (Exception, SystemExit) as error:
            if limit is not None and limit.expired():
                return _took_too_long(tool)
            log.exception("tool.failed", extra={"tool": name})
            return ToolResult("error", error=f"tool '{name}' failed: {type(error).__name__}: {error}")

    async def _in_thread(self, tool: Tool, subject: object, parameters: msgspec.Struct) -> object:
        """Run a tool in a thread. If the call is called off, so are its programs, and the thread has to end in time."""
        scope, call = CallScope(), f"tool '{tool.name}' in call {next(_CALLS)}"

        def work() -> object:
            has_begun.set()
            try:
                return run_in(scope, lambda: tool.run(subject, parameters))
            finally:
                has_ended.set()
                self._host.watchdog.ended(call)

        has_begun, has_ended = threading.Event(), threading.Event()
        try:
            return await asyncio.to_thread(work)
        except asyncio.CancelledError:
            scope.forbid()
            if has_begun.is_set():
                self._host.watchdog.told(call)
                if has_ended.is_set():
                    self._host.watchdog.ended(call)
                # Killing takes a moment in which the event loop must not wait.
                threading.Thread(target=scope.call_off, name=f"call off {call}", daemon=True).start()
            raise


def _refusal(name: str, admission: Admission) -> str:
    return f"tool '{name}' {BREAKER_OPEN}; the next try may be made in {admission.retry_after_s:.0f} s"


def _took_too_long(tool: Tool) -> ToolResult:
    return ToolResult("timeout", error=f"tool '{tool.name}' took longer than {tool.timeout_s:g} s")


def _at_fault(error: JeevesError) -> Literal["tool", "request"]:
    return "request" if isinstance(error, InputError) else "tool"


def _decoded(tool: Tool, data: bytes) -> ToolResult:
    """Decode a journaled result, with evidence of the type that the tool names."""
    result: ToolResult = msgspec.msgpack.decode(data, type=tool.result)
    return result
