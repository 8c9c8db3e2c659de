"""Holds what the tool calls of one agent share: breakers, processes, watchdog, counts."""

from __future__ import annotations

import logging
from typing import Protocol, runtime_checkable

import msgspec

from runtime.primitives.clock import Clock, SystemClock
from runtime.processes.stop_watchdog import STOP_PATIENCE_S, StopWatchdog
from runtime.tools.breakers import ToolBreakers
from runtime.tools.own_process import ToolProcesses
from runtime.tools.result import ToolResult, ToolStatus

log = logging.getLogger(__name__)

MAX_COUNTED = 1_000

# Queries that the store answers: {scope, calls} → {}, and {} → {tools}.
ADD_TOOL_USES = "memory.add_tool_uses"
TOOL_HEALTH = "memory.tool_health"


@runtime_checkable
class ScopedSubject(Protocol):
    """Marks what tools work on as something with a scope of its own, in which tools are judged."""

    @property
    def tool_scope(self) -> str:
        """The name of the scope, such as the root of a repository."""


def scope_of(subject: object) -> str:
    """Return the scope of a tool's subject; empty for one without."""
    return subject.tool_scope if isinstance(subject, ScopedSubject) else ""


class CountedCall(msgspec.Struct, frozen=True):
    """Records the end of one call: its tool, status, duration and instant, and whether the tool failed."""

    tool: str
    status: ToolStatus
    duration_ms: int
    at_ms: int
    is_failure: bool = False


class ToolHost:
    """Serves the executors of one agent. Nothing starts before the first call that needs it."""

    def __init__(
        self,
        clock: Clock | None = None,
        watchdog: StopWatchdog | None = None,
        processes: ToolProcesses | None = None,
    ) -> None:
        """Create the host. `watchdog` learns of threads that were called off; by default they are only logged."""
        self._clock = clock or SystemClock()
        self.breakers = ToolBreakers(self._clock)
        self.processes = processes or ToolProcesses()
        self.watchdog = watchdog or StopWatchdog(_log_stuck)
        self._counted: dict[str, list[CountedCall]] = {}

    def count(self, tool: str, scope: str, result: ToolResult) -> None:
        """Count a call for `take_counted`; tools whose subject names no scope share an empty one."""
        call = CountedCall(tool, result.status, result.duration_ms, self._clock.now_ms(), result.is_failure)
        counted = self._counted.setdefault(scope, [])
        counted.append(call)
        del counted[:-MAX_COUNTED]

    def take_counted(self) -> dict[str, list[CountedCall]]:
        """Return the calls counted since the last time, by scope."""
        counted, self._counted = self._counted, {}
        return counted

    async def close(self) -> None:
        """Kill the processes that wait for calls."""
        await self.processes.close()


def _log_stuck(calls: list[str]) -> None:
    log.error("tool.does_not_stop", extra={"calls": calls, "patience_s": STOP_PATIENCE_S})
