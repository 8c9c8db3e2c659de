"""Adds the routes that show how the system fares: its parts, its bounds, and each tool.

What a part does not answer is told in the document, which is given in any case. Nothing in it is about a caller.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import Depends, FastAPI

from runtime.errors import JeevesError, UnknownNameError
from runtime.llm.call_metrics import together
from runtime.memory.tool_metrics import ToolHealth, ToolMetric
from runtime.primitives.clock import SystemClock
from serve.http.access.callers import Caller, caller_of
from serve.http.answering.readiness import CHECK_TIMEOUT_S
from serve.http.answering.service import Service
from serve.http.routes.openapi import answers_of

GOVERNANCE = "/api/v1/governance"
MAX_SHOWN = 500

Status = Literal["healthy", "degraded", "down"]
T = TypeVar("T")

Asking = Annotated[Caller, Depends(caller_of)]


class Governance:
    """Asks the parts of the system behind a service, each within a bounded time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._runs = service.runs
        self._clock = SystemClock()

    async def health(self) -> dict[str, Any]:
        """Return how all parts fare: those that answer, agents, breakers, queues, bounds and tools."""
        faults, bus, models, places, tools = await asyncio.gather(
            self._service.readiness_checks.faults(),
            self._answer(self._runs.bus_stats()),
            self._answer(self._runs.model_stats()),
            self._answer(self._runs.model_places()),
            self._answer(self._runs.tool_health()),
        )
        breakers = _breakers(bus or {}, together((models or {}).values()).breakers, tools or [])
        return {
            "status": _status(faults, breakers, tools or []),
            "at_ms": self._clock.now_ms(),
            "parts": {
                part: self._service.paths.text(faults.get(part, "answers")) for part in ("supervisor", "bus", "store")
            },
            "agents": _first((bus or {}).get("endpoints", {})),
            "breakers": breakers,
            "queues": _queues(bus, places),
            "bounds": {**self._service.bounds, "runs_under_way": self._service.readiness_checks.runs_under_way},
            "tools": {tool.tool: tool.health for tool in tools or ()},
        }

    async def tool(self, name: str) -> dict[str, Any]:
        """Return how a tool fares: by its latest calls, and its sums in each registered repository.

        Raises UnknownNameError for a name that no capability has and that was not called.
        """
        latest = {tool.tool: tool for tool in await self._runs.tool_health()}
        if name not in self._service.spec.tools and name not in latest:
            known = ", ".join(self._service.spec.tools)
            raise UnknownNameError(f"there is no tool '{name[:100]}'; there are: {known}", name=name[:100], known=[])
        judged = latest.get(name, ToolHealth(name, "unknown", 0, 0, 0))
        repositories = self._service.spec.repositories
        sums = await asyncio.gather(*(self._answer(self._sums(name, repo)) for repo in repositories.values()))
        counted = [each for each in sums if each is not None]
        return {
            "tool": name,
            "health": judged.health,
            "latest": {"calls": judged.calls, "failures": judged.failures},
            "latency_ms": {
                "mean": judged.mean_ms,
                "p50": judged.p50_ms,
                "p95": judged.p95_ms,
                "max": judged.max_ms,
            },
            "quarantine": {"open_in": judged.open_in, "probe_at_ms": judged.probe_at_ms or None},
            "total": {"calls": sum(each.calls for each in counted), "usable": sum(each.usable for each in counted)},
        }

    async def _sums(self, tool: str, repo: str) -> ToolMetric | None:
        answer = await self._runs.query("memory.tool_metrics", {"scope": repo}, CHECK_TIMEOUT_S)
        found = msgspec.convert(answer["tools"], list[ToolMetric])
        return next((each for each in found if each.tool == tool), None)

    async def _answer(self, asked: Awaitable[T]) -> T | None:
        """Return an answer, None if there is none in time."""
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                return await asked
        except (JeevesError, TimeoutError):
            return None


def _breakers(bus: Mapping[str, Any], models: Mapping[str, str], tools: list[ToolHealth]) -> dict[str, dict[str, str]]:
    """Return the state of each breaker that is not closed: of message types, model deployments and tools."""
    of_bus = bus.get("middleware", {}).get("circuit_breaker", {})
    states = {
        "bus": {type_: breaker["state"] for type_, breaker in of_bus.items()},
        "models": dict(models),
        "tools": {tool.tool: "open" if tool.open_in else "closed" for tool in tools},
    }
    return {
        kind: _first({name: state for name, state in of.items() if state != "closed"}) for kind, of in states.items()
    }


def _queues(bus: Mapping[str, Any] | None, places: Mapping[str, tuple[int, int, int]] | None) -> dict[str, Any]:
    """Return what waits: frames and queries of the bus, and calls of models. None: there was no answer."""
    return {
        "parked_frames": None if bus is None else bus["parked"],
        "dead_letters": None if bus is None else bus["counts"].get("dead_letter", 0),
        "queries_under_way": None if bus is None else bus.get("queries_under_way", 0),
        "models": None
        if places is None
        else {name: {"used": held, "of": of, "waiting": waiting} for name, (held, of, waiting) in places.items()},
    }


def _status(faults: Mapping[str, str], breakers: Mapping[str, Mapping[str, str]], tools: list[ToolHealth]) -> Status:
    """Return `down` if questions cannot be answered, `degraded` if some will be answered worse."""
    if faults:
        return "down"
    is_worse = any(breakers.values()) or any(tool.health in ("degraded", "unhealthy") for tool in tools)
    return "degraded" if is_worse else "healthy"


def _first(values: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(values.items())[:MAX_SHOWN])


def add_governance(api: FastAPI, service: Service) -> None:
    """Add the routes."""
    governance = Governance(service)

    @api.get(GOVERNANCE + "/health", responses=answers_of("governance"))
    async def governance_health(_caller: Asking) -> dict[str, Any]:
        """Show how the parts of the system fare, with breakers, queues and bounds in use."""
        return await governance.health()

    @api.get(GOVERNANCE + "/tools/{name}", responses=answers_of("tool"))
    async def governance_tool(name: str, _caller: Asking) -> dict[str, Any]:
        """Show how a tool fares: calls, failures, latencies, and where it is quarantined."""
        return await governance.tool(name)
