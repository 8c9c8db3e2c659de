"""Exports what authors of capabilities and programs that embed the kernel need, as one import.

    from runtime.kernel import AgentHooks, Capability, StageContext, StageResult, StageView

`open_kernel` runs pipelines of one capability in this process: `submit`, `watch`, `answer`, `envelope` and the others
are methods of the `LocalRunner` that it returns. `runtime.testing` has scripted models, a fake clock and an in-process
bus for tests. The names below stay; modules that they come from may move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from runtime.agents.answer import Answer
from runtime.agents.capability import (
    AgentHooks,
    Capability,
    StageContext,
    StageInput,
    StageResult,
    services_of,
)
from runtime.agents.profile import AgentProfile
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.context.answer_context import AnswerContext
from runtime.context.budget import Budget, fit_context
from runtime.context.models import AgentContext
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.errors import JeevesError, StageError
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.messages import Message
from runtime.llm.prompts import PromptRegistry
from runtime.memory.capability_values import MemoryCache, ValueStore, value_queries
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.loading import load_pipeline, parse_pipeline
from runtime.primitives.clock import Clock, SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptRequest, InterruptResponse, Request
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView
from runtime.store.run_log import MemoryRunLog, RunLog
from runtime.supervision.commands import ClientEvent
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

__all__ = [
    "AgentContext",
    "AgentHooks",
    "AgentProfile",
    "Answer",
    "AnswerContext",
    "Budget",
    "Capability",
    "ClientEvent",
    "Clock",
    "Envelope",
    "GoalsPatch",
    "InterruptRequest",
    "InterruptResponse",
    "JeevesError",
    "LocalRunner",
    "Message",
    "PipelineConfig",
    "PolicyVerdict",
    "PromptRegistry",
    "Request",
    "RunId",
    "StageContext",
    "StageError",
    "StageInput",
    "StageResult",
    "StageView",
    "Struct",
    "Tool",
    "ToolRegistry",
    "ToolResult",
    "fit_context",
    "load_pipeline",
    "open_kernel",
    "parse_pipeline",
]


def open_kernel(
    capability: Capability,
    pipelines: Iterable[PipelineConfig | Path | str],
    *,
    reasoner: str = "rules",
    settings: Mapping[str, Any] | None = None,
    run_log: RunLog | None = None,
    clock: Clock | None = None,
) -> LocalRunner:
    """Return a runner in this process for pipelines of one capability: configurations, paths of files, or YAML.

    Without a `run_log`, runs are kept in memory and end with the process. `settings` is given to `open_services`.
    Raises DocumentFaults, and SettingsError if the capability lacks an agent of a pipeline.
    """
    time = clock or SystemClock()
    queries = LocalQueries()
    queries.register(journal_queries(MemoryJournal()))
    queries.register(value_queries(ValueStore(MemoryCache(), time)))
    told = dict(settings or {})
    services = services_of(capability, told)
    configs = [_pipeline(given) for given in pipelines]
    agents = {
        config.name: {
            agent.name: Agent(agent, capability, reasoner, told, time, queries, services) for agent in config.agents
        }
        for config in configs
    }
    return LocalRunner({config.name: config for config in configs}, agents, run_log or MemoryRunLog(), time)


def _pipeline(given: PipelineConfig | Path | str) -> PipelineConfig:
    if isinstance(given, PipelineConfig):
        return given
    return load_pipeline(given) if isinstance(given, Path) else parse_pipeline(given)
