"""Whole runs in one process with what `runtime.testing` leaves at its defaults: policies, quotas, several pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from runtime.agents.capability import Capability
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.rate_limits import RateLimiter
from runtime.hosting.local_runner import LocalRunner
from runtime.hosting.run_table import NO_QUOTAS
from runtime.memory.run_metrics import RunReport
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from runtime.store.run_log import MemoryRunLog, RunLog
from runtime.supervision.events import Event, encode_event
from runtime.testing import START_MS, Script, ScriptedAgent
from runtime.tools.registry import Tool, ToolRegistry

Policy = Callable[..., Awaitable[Any]]


class Hosted:
    """A LocalRunner over one pipeline; `policies` are hooks by stage."""

    def __init__(
        self,
        config: PipelineConfig,
        scripts: Mapping[str, Script],
        policies: Mapping[str, Policy] | None = None,
        tools: Iterable[Tool] = (),
        quotas: Quotas = NO_QUOTAS,
        rates: RateLimiter | None = None,
        log: RunLog | None = None,
        keep_metrics: Callable[[RunReport], None] | None = None,
    ) -> None:
        self.config = config
        self.clock = FakeClock(START_MS)
        self.log = log or MemoryRunLog()
        self.agents = {stage: ScriptedAgent(script) for stage, script in scripts.items()}
        hooks = {stage: agent.hooks() for stage, agent in self.agents.items()}
        for stage, policy in (policies or {}).items():
            hooks[stage] = msgspec.structs.replace(hooks[stage], policy=policy)
        capability = Capability("hosted", (config.name,), hooks, ToolRegistry(tools), dict)
        queries = LocalQueries()
        self.journal = MemoryJournal()
        queries.register(journal_queries(self.journal))
        hosted = {
            stage: Agent(agent, capability, "scripted", {}, self.clock, queries)
            for stage, agent in config.stages.items()
        }
        self.runner = LocalRunner(
            *({config.name: config}, {config.name: hosted}, self.log, self.clock, quotas, rates),
            keep_metrics=keep_metrics,
        )

    def request(self, question: str = "?", **fields: Any) -> Request:
        """A request for this pipeline."""
        return Request(self.config.name, question, **fields)

    async def submit(self, question: str = "?", **fields: Any) -> RunId:
        """Start a run and let it go as far as it can without time passing."""
        run_id = await self.runner.submit(self.request(question, **fields))
        await self.clock.advance(0)
        return run_id

    async def run(self, question: str = "?", **fields: Any) -> Envelope:
        """A whole run while the clock stands still."""
        return await self.runner.run(self.request(question, **fields))

    async def settle(self, run_id: RunId, step_s: float = 30, most: int = 100) -> Envelope:
        """Let time pass until the run is over."""
        for _ in range(most):
            if self.runner.envelope(run_id).lifecycle == "terminated":
                return self.runner.envelope(run_id)
            await asyncio.to_thread(int)  # lets the threads of tools finish
            await self.clock.advance(step_s)
        raise AssertionError(f"run {run_id} is not over after {most} steps of {step_s:g} s")


def wire(events: Iterable[Event]) -> list[bytes]:
    """Events as they are kept, for comparing them by content."""
    return [encode_event(event) for event in events]
