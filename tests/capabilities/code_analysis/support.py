"""A small repository, and whole runs of code_analysis over it with agents of the test's choice, without Ray.

desk = await AnalysisHarness.open(root, state, capability=with_agents(critic=hooks))
document = await desk.ask("Where are bounds enforced?")
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.steps import PURPOSE_OF_TOOL, Purpose, Step
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.kinds import question_kinds
from runtime.agents.capability import AgentHooks, Capability, Process, Reasoner, StageContext
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries, QueryClient
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.codebase.knowledge.earlier_answers import MemoryStore, memory_queries
from runtime.codebase.knowledge.relation_store import RelationStore, relation_queries
from runtime.database.sqlite_database import SqliteDatabase
from runtime.hosting.local_runner import LocalRunner
from runtime.memory.cache import CacheStore
from runtime.memory.sessions import SessionStore, session_queries
from runtime.memory.tool_metrics import ToolMetricsStore, tool_metric_queries
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope
from runtime.run.goals import GoalBoard
from runtime.run.stage_budget import StageBudget
from runtime.run.stage_view import StageView
from runtime.settings import shipped_config_dir
from runtime.store.run_log import MemoryRunLog
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import Tool, ToolRegistry
from serve.answer_document import Ask, document_of
from serve.runtimes.answering import request_of
from tests.repositories import repository_files
from tests.repositories import write_files as write_files

PIPELINE = "code_analysis"
LLM_AGENTS = ("intent", "planner", "synthesizer", "critic")

FILES = repository_files("relay")

ASPECTS = {kind.name: kind.aspects for kind in question_kinds().values()}


def pipeline(name: str = PIPELINE) -> PipelineConfig:
    """A pipeline as it ships."""
    return load_pipeline(shipped_config_dir() / "pipelines" / f"{name}.yaml")


def with_agents(base: Capability = CAPABILITY, /, **hooks: AgentHooks) -> Capability:
    """The capability with other hooks for some of its agents."""
    return msgspec.structs.replace(base, agents={**base.agents, **hooks})


def reasoning(agent: str, reasoner: Reasoner) -> AgentHooks:
    """The hooks of an agent with another reasoner in the place of `rules`."""
    return msgspec.structs.replace(CAPABILITY.agents[agent], reasoners={"rules": reasoner})


def processing(process: Process) -> AgentHooks:
    """The hooks of an agent without a model."""
    return AgentHooks(process=process)


class Produced:
    """What tools really returned in a run, noted at the moment when they did: file → (start, end, hash of the file)."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.ranges: dict[str, set[tuple[int, int, str]]] = {}
        self.results: list[tuple[str, ToolResult]] = []

    def clear(self) -> None:
        """Forget an earlier run."""
        self.ranges.clear()
        self.results.clear()

    def recording(self, capability: Capability) -> Capability:
        """The capability with the same tools, each of which reports here."""
        return msgspec.structs.replace(
            capability, tools=ToolRegistry(self._recording(tool) for tool in capability.tools)
        )

    def _recording(self, tool: Tool) -> Tool:
        def run(subject: Any, parameters: Any) -> ToolResult:
            result = tool.run(subject, parameters)
            self.results.append((tool.name, result))
            for citation in result.citations:
                place = (citation.start_line, citation.end_line, file_hash(self._root / citation.file))
                self.ranges.setdefault(citation.file, set()).add(place)
            return result

        # In another process the tool would be run as it is declared, and report nothing here.
        return msgspec.structs.replace(tool, run=run, isolation="in_process")


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class AnalysisHarness:
    """Answers questions about one indexed repository, with the capability and pipeline that it was given."""

    def __init__(
        self, root: Path, repository: dict[str, Any], state: Path, capability: Capability, config: PipelineConfig
    ) -> None:
        self.root = root
        self.repository = repository
        self.config = config
        self.capability = capability
        self.queries = LocalQueries()
        self.queries.register(session_queries(SessionStore(state / "sessions.sqlite")))
        cache = CacheStore(SqliteDatabase(state / "cache.sqlite", label="cache"))
        self.memory = MemoryStore(cache, SystemClock())
        self.queries.register(memory_queries(self.memory))
        self.relations = RelationStore(SqliteDatabase(state / "relations.sqlite", label="relations"), SystemClock())
        self.queries.register(relation_queries(self.relations))
        self.tool_metrics = ToolMetricsStore(
            SqliteDatabase(state / "relations.sqlite", label="relations"), SystemClock()
        )
        self.queries.register(tool_metric_queries(self.tool_metrics))
        self.services = capability.open_services({})
        self.last: Envelope | None = None

    @classmethod
    async def open(
        cls,
        root: Path,
        state: Path,
        capability: Capability = CAPABILITY,
        config: PipelineConfig | None = None,
    ) -> AnalysisHarness:
        """Index a repository and sit down before it."""
        repository = await IndexService(state / "index", IndexOptions()).refresh(str(root))
        return cls(root, repository, state, capability, config or pipeline())

    def variant(self, capability: Capability, config: PipelineConfig | None = None) -> AnalysisHarness:
        """The same repository, sessions and opened index, with other agents."""
        other = object.__new__(AnalysisHarness)
        other.__dict__ = {**self.__dict__, "capability": capability, "config": config or self.config}
        return other

    async def run(self, question: str, session_id: str | None = None, **asked: Any) -> Envelope:
        """A whole run; its envelope."""
        clock = SystemClock()
        agents = {
            agent.name: Agent(agent, self.capability, "rules", {}, clock, self.queries, self.services)
            for agent in self.config.agents
        }
        runner = LocalRunner({self.config.name: self.config}, {self.config.name: agents}, MemoryRunLog(), clock)
        ask = Ask(question, str(self.root), self.config.name, session_id=session_id, **asked)
        try:
            self.last = await runner.run(request_of(ask, self.repository))
        finally:
            await runner.close()
        return self.last

    async def ask(self, question: str, session_id: str | None = None, **asked: Any) -> dict[str, Any]:
        """A whole run; its answer document."""
        envelope = await self.run(question, session_id, **asked)
        return document_of(Ask(question, str(self.root), self.config.name, **asked), envelope, "rules")


_LIKE_A_MARK = re.compile(r"(?:(?<![\w)\]])\[[^\[\]\n]+|\[[^\[\]\n]*[^\[\]\n\d:][^\[\]\n]*):\d+(?:-\d+)?\]")


def indexed(folder: Path, files: Mapping[str, str]) -> AnalysisHarness:
    """Return the harness of a repository of such files, written and indexed below a folder."""
    write_files(folder / "repo", files)
    return asyncio.run(AnalysisHarness.open(folder / "repo", folder / "state"))


@contextmanager
def codebase_of(harness: AnalysisHarness) -> Iterator[Codebase]:
    """Yield the codebase that a harness has indexed."""
    with closing(Codebase.open(harness.root, Path(harness.repository["index_path"]))) as codebase:
        yield codebase


def mark_of(citation: Mapping[str, Any]) -> str:
    """The mark of a citation, written down by itself."""
    first, last = citation["start_line"], citation["end_line"]
    return f"[{citation['file']}:{first}]" if first == last else f"[{citation['file']}:{first}-{last}]"


def mark_faults(text: str, citations: list[dict[str, Any]]) -> list[str]:
    """What keeps the marks of a text from being exactly its citations."""
    marks = {mark_of(citation) for citation in citations}
    faults = [f"{mark} is cited, but not marked" for mark in sorted(marks) if mark not in text]
    for mark in sorted(marks, key=len, reverse=True):
        text = text.replace(mark, "")
    return faults + [f"{mark} is marked, but not cited" for mark in _LIKE_A_MARK.findall(text)]


def no_context(services: Any = None, queries: QueryClient | None = None) -> StageContext:
    """A context for hooks that use next to nothing of it."""
    return StageContext(
        StageKey(RunId("r-test"), 1),
        SystemClock(),
        ToolExecutor(CAPABILITY.tools, frozenset({"list_tools"}), StageBudget(Grant(tool_calls=5))),
        queries or LocalQueries(),
        services,
        asyncio.Event(),
    )


def view(question: str = "", *, goals: GoalBoard | None = None, **outputs: dict[str, Any]) -> StageView:
    """What a stage sees in the middle of a run about `question`."""
    asked = {"question": msgspec.to_builtins(analyse(question)), "intent": question, "hint_used": None}
    perceived = {"normalized_input": question, "memory_context": {"turns": []}}
    return StageView(
        raw_input=question,
        outputs={"perception": perceived, "intent": asked, **outputs},
        goals=goals or GoalBoard(),
        context_bounds={"max_stages": 5, "max_reintents": 3},
    )


def cited(file: str, start: int, end: int | None = None, quote: str = "", **more: Any) -> Citation:
    """A citation in few words."""
    return Citation(file, start, end if end is not None else start, quote, **more)


def step_of(tool: str, purpose: Purpose | None = None) -> Step:
    """A step that calls a tool; for what such a step usually is, where nothing else is said."""
    return Step("s1", purpose or PURPOSE_OF_TOOL.get(tool, "find"), tool, {}, (), "")


Hook = Callable[..., Awaitable[Any]]
