"""The two hosts of runs, each with the same pipelines: the local runner, and a system of actors on Ray."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from actors.links.doors import LinksBy
from runtime.agents.capability import load_capability
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.hosting.local_runner import LocalRunner
from runtime.memory.sessions import SessionStore, session_queries
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse, Request
from runtime.settings import RaySettings, shipped_config_dir
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.commands import ClientEvent
from runtime.testing import PipelineBuilder

SAMPLE = "tests.conformance.sample_capability:CAPABILITY"
CODE_ANALYSIS = "actors.capabilities.code_analysis.capability:CAPABILITY"
TOOLS = {"has_tools": True, "tool_access": "read", "allowed_tools": ["echo"]}

PIPELINES: tuple[PipelineConfig, ...] = (
    PipelineBuilder("line", capability="sample", max_tool_calls=3)
    .stage("a", default_next="b", max_retries=1, **TOOLS)
    .stage("b", default_next="c", required_output_fields=["needed"], error_next="c")
    .stage("c")
    .rule("unclear", True, "clarification")
    .rule("sure", False, "confirmation")
    .build(),
    PipelineBuilder("loop", capability="sample", max_iterations=5)
    .stage("a", default_next="b")
    .stage("b", default_next="c")
    .rule("good", False, "a", ["a"])
    .stage("c")
    .rule("good", False, "a")
    .edge_limit("b", "a", 2)
    .build(),
    PipelineBuilder("guarded", capability="sample", final_stage="c", max_agent_hops=6, max_iterations=9)
    .stage("a", default_next="b", timeout_s=2)
    .stage("b", default_next="c", **TOOLS)
    .rule("good", False, "a")
    .stage("c")
    .build(),
    PipelineBuilder("rounds", capability="sample", loop_detection=True, max_iterations=9)
    .stage("a", default_next="b", error_next="b")
    .stage("b", error_next="a")
    .rule("good", False, "a")
    .build(),
    PipelineBuilder("race", capability="sample", default_run_mode="parallel")
    .stage("a")
    .stage("b")
    .stage("c", requires=["a", "b"], join_strategy="any")
    .build(),
    PipelineBuilder("fan", capability="sample", default_run_mode="parallel")
    .stage("a")
    .stage("b", requires=["a"], foreach="outputs.a.items", foreach_concurrency=1)
    .stage("c", requires=["b"])
    .build(),
    load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis.yaml"),
    load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis_reviewed.yaml"),
)


def _timeless(interrupt: dict[str, Any] | None) -> dict[str, Any] | None:
    """A question without what no two runs share: its id and its instants."""
    if interrupt is None:
        return None
    return {key: value for key, value in interrupt.items() if key != "id" and not key.endswith("_at_ms")}


def capability_of(pipeline: PipelineConfig) -> str:
    """ "module:NAME" of the capability that works in a pipeline."""
    return SAMPLE if pipeline.capability_id == "sample" else CODE_ANALYSIS


_SIGNS = {"success": "", "error": "!", "cancelled": "~", "skipped": "-"}


class Host(Protocol):
    """What drives runs."""

    async def submit(self, request: Request) -> RunId:
        """Start a run."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncIterator[ClientEvent]:
        """Its events to the end."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End it now."""

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer its question."""

    async def final(self, run_id: RunId) -> Envelope:
        """Its envelope as it stands."""


class LocalHost(LocalRunner):
    """Runs in this process."""

    def __init__(self, folder: Path) -> None:
        clock = SystemClock()
        queries = LocalQueries()
        queries.register(journal_queries(MemoryJournal()))
        queries.register(IndexService(folder / "index", IndexOptions()).queries())
        self.sessions = SessionStore(folder / "sessions.sqlite")
        queries.register(session_queries(self.sessions))
        agents = {}
        for pipeline in PIPELINES:
            capability = load_capability(capability_of(pipeline))
            services = capability.open_services({})
            agents[pipeline.name] = {
                config.name: Agent(config, capability, "rules", {}, clock, queries, services)
                for config in pipeline.agents
            }
        super().__init__({pipeline.name: pipeline for pipeline in PIPELINES}, agents, MemoryRunLog(), clock)

    async def final(self, run_id: RunId) -> Envelope:
        return self.envelope(run_id)


class RayHost:
    """Runs on a system of actors."""

    def __init__(self, system: Any) -> None:
        self.system = system
        self.submit: Callable[[Request], Any] = system.submit
        self.watch: Callable[..., AsyncIterator[ClientEvent]] = system.watch
        self.cancel: Callable[[RunId, str], Any] = system.cancel
        self.answer: Callable[[RunId, str, str, InterruptResponse], Any] = system.answer
        self.final: Callable[[RunId], Any] = system.envelope


def system_spec(state_dir: Path, pipelines: tuple[PipelineConfig, ...] = PIPELINES) -> dict[str, Any]:
    """The fields of `actors.system_actors.SystemSpec`."""
    return {
        "pipelines": [as_wire(pipeline) for pipeline in pipelines],
        "capabilities": {pipeline.name: capability_of(pipeline) for pipeline in pipelines},
        "reasoner": "rules",
        "settings": {},
        "state_dir": str(state_dir),
        "keeper": "supervisor",
    }


class ClusterUp:
    """A cluster of this process with one system on it; a context manager. Ray is imported on entering."""

    def __init__(
        self,
        state_dir: Path,
        pipelines: tuple[PipelineConfig, ...] = PIPELINES,
        limits: dict[str, Any] | None = None,
        links: LinksBy = True,
        shards: int = 1,
    ) -> None:
        self._state_dir = state_dir
        self._pipelines = pipelines
        self._limits = limits or {}
        self._links = links
        self._shards = shards

    def __enter__(self) -> Any:
        from actors.cluster import start_local
        from actors.system_actors import SystemSpec, start_system

        self._cluster = start_local(RaySettings(), self._state_dir)
        spec = system_spec(self._state_dir, self._pipelines)
        return start_system(SystemSpec(**spec, limits=self._limits, links=self._links, shards=self._shards))

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()


class Ran(msgspec.Struct, frozen=True):
    """A run that is over, without what differs from run to run: ids, instants and durations."""

    reason: str | None
    detail: str | None
    history: list[tuple[str, int, int, str, str | None]]
    outputs: dict[str, Any]
    usage: dict[str, Any]
    events: list[str]
    errors: tuple[str, ...]
    goals: Any
    interrupt: Any

    @property
    def stages(self) -> str:
        """Visits in a line: `a b/2` is stage a, then stage b in its second attempt; a `!` says that it failed."""
        return " ".join(
            f"{stage}{'' if attempt == 1 else f'/{attempt}'}{_SIGNS[status]}"
            for stage, _, attempt, status, _ in self.history
        )


async def run_through(host: Host, request: Request, cancel_at: str | None = None) -> Ran:
    """A whole run; it is cancelled when the stage `cancel_at` has started."""
    run_id = await host.submit(request)
    events: list[str] = []
    async for event in host.watch(run_id):
        assert event.run_id == run_id
        assert event.seq == len(events) + 1
        events.append(described(event))
        if event.type == "stage.started" and event.stage == cancel_at:
            await host.cancel(run_id, "enough")
    assert [described(event) async for event in host.watch(run_id, len(events) - 1)] == events[-1:]
    return ran(await host.final(run_id), events)


def described(event: ClientEvent) -> str:
    """An event in a word or two."""
    told = {"tool.called": "status", "stage.finished": "status", "bound.warned": "bound", "stage.started": "attempt"}
    about = [event.stage, event.data.get(told.get(event.type, ""))]
    return " ".join([event.type, *(str(part) for part in about if part is not None)])


def ran(envelope: Envelope, events: list[str]) -> Ran:
    """What there is to compare of a finished run."""
    assert envelope.lifecycle == "terminated"
    detail = envelope.terminal_detail
    return Ran(
        reason=envelope.terminal_reason,
        detail=detail if detail is None else re.sub(r"passed [\d.]+ m?s after", "passed DEADLINE after", detail),
        history=[
            (str(record.stage), record.hop, record.attempt, record.status, record.error) for record in envelope.history
        ],
        outputs=envelope.outputs,
        usage=msgspec.to_builtins(envelope.usage),
        events=events,
        errors=envelope.errors,
        goals=msgspec.to_builtins(envelope.goals),
        interrupt=_timeless(msgspec.to_builtins(envelope.interrupt)),
    )
