"""Whole pipelines of stages that do nothing, beside LangGraph in one process: runs per second and CPU per run.

Here each stage is an actor of its own, every message goes through the bus, and every hop is on the disk before the next
one begins. LangGraph runs in this process, once without checkpoints and once with its SQLite saver at the same
durability (`synchronous` FULL); otherwise with its stock settings. The state is 4 KB, and sixteen runs are under way.
"""

from __future__ import annotations

import asyncio
import operator
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from runtime.testing import PipelineBuilder
from tests.benchmarks.idle_capability import NAMES
from tests.conformance.hosts import system_spec

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

AT_ONCE = 16
RUNS = 300
ROUNDS = 3
TEXT = "x" * 4_000
IDLE = "tests.benchmarks.idle_capability:CAPABILITY"
OURS = ("ray::AgentActor", "ray::CommBusActor", "ray::SupervisorActor")

Run = Callable[[], Awaitable[Any]]


def seq7() -> PipelineConfig:
    """Seven stages in a row."""
    builder = PipelineBuilder("seq7", capability="idle")
    for name, after in zip(NAMES[:7], [*NAMES[1:7], None], strict=True):
        builder = builder.stage(name, **({} if after is None else {"default_next": after}))
    return builder.build()


def diamond8() -> PipelineConfig:
    """One stage, eight branches after it, and one that joins them."""
    first, *branches, last = NAMES
    builder = PipelineBuilder("diamond8", capability="idle", default_run_mode="parallel").stage(first)
    for name in branches:
        builder = builder.stage(name, requires=[first])
    return builder.stage(last, requires=branches).build()


class State(TypedDict):
    """What the nodes of a graph see."""

    text: str
    outputs: Annotated[dict[str, Any], operator.or_]


def graph_of(pipeline: PipelineConfig) -> Any:
    """The same stages and edges as a graph that is not compiled yet."""
    graphs = pytest.importorskip("langgraph.graph")
    graph = graphs.StateGraph(State)
    for agent in pipeline.agents:

        async def node(_state: State, name: str = agent.name) -> dict[str, Any]:
            return {"outputs": {name: {}}}

        graph.add_node(agent.name, node)
    for agent in pipeline.agents:
        if agent.requires:
            graph.add_edge(list(agent.requires), agent.name)
        if agent.default_next is not None:
            graph.add_edge(agent.name, agent.default_next)
    graph.add_edge(graphs.START, pipeline.agents[0].name)
    graph.add_edge(pipeline.agents[-1].name, graphs.END)
    return graph


def children() -> dict[int, str]:
    """The names of the processes below this one."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in (path.name for path in Path("/proc").iterdir() if path.name.isdigit()):
        try:
            told = Path("/proc", entry, "stat").read_text(encoding="utf-8")
            names[int(entry)] = Path("/proc", entry, "cmdline").read_text(encoding="utf-8").split("\0")[0].strip()
        except OSError:
            continue  # the process has ended since it was listed
        parents[int(entry)] = int(told.rpartition(")")[2].split()[1])

    def is_below(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return {pid: name for pid, name in names.items() if is_below(pid)}


def cpu_s(pids: list[int]) -> float:
    """What these processes have spent, to the nanosecond; a child may end meanwhile."""
    total_ns = 0
    for pid in pids:
        for task in Path("/proc", str(pid), "task").iterdir():
            total_ns += int((task / "schedstat").read_text(encoding="utf-8").split()[0])
    return total_ns / 1e9


async def measured(run: Run, pids: Callable[[], list[int]]) -> tuple[float, float]:
    """Runs per second and CPU per run in milliseconds, the best of some rounds."""

    async def some() -> None:
        for _ in left:
            await run()

    rates, costs = [], []
    for _ in range(ROUNDS):
        left = iter(range(RUNS))
        counted = pids()
        before_s, began_s = cpu_s(counted), time.perf_counter()
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        rates.append(RUNS / (time.perf_counter() - began_s))
        costs.append((cpu_s(counted) - before_s) / RUNS * 1e3)
    return max(rates), min(costs)


@pytest.fixture(params=[seq7, diamond8], ids=["seq7", "diamond8"])
def pipeline(request: pytest.FixtureRequest) -> PipelineConfig:
    built: PipelineConfig = request.param()
    return built


@pytest.fixture
def system(pipeline: PipelineConfig, tmp_path: Path) -> Iterator[Any]:
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    cluster = start_local(RaySettings(), tmp_path)
    try:
        told = system_spec(tmp_path, (pipeline,)) | {"capabilities": {pipeline.name: IDLE}}
        yield start_system(SystemSpec(**told))
    finally:
        cluster.shutdown()


async def ours(system: Any, pipeline: PipelineConfig) -> tuple[float, float]:
    await system.ready()

    async def run() -> None:
        run_id = await system.submit(Request(pipeline.name, TEXT))
        last = [event async for event in system.watch(run_id)][-1]
        assert last.data["terminal_reason"] == "completed"

    for _ in range(2 * AT_ONCE):
        await run()
    return await measured(run, lambda: [os.getpid(), *(pid for pid, name in children().items() if name in OURS)])


async def theirs(pipeline: PipelineConfig, folder: Path | None) -> tuple[float, float]:
    """Of LangGraph; with its SQLite saver if there is a folder."""
    graph, numbers = graph_of(pipeline), iter(range(10**9))

    async def of(compiled: Any) -> tuple[float, float]:
        async def run() -> None:
            config = {"configurable": {"thread_id": str(next(numbers))}}
            ended = await compiled.ainvoke({"text": TEXT, "outputs": {}}, config)
            assert len(ended["outputs"]) == len(pipeline.agents)

        await run()
        return await measured(run, lambda: [os.getpid()])

    if folder is None:
        return await of(graph.compile())
    saver_of = pytest.importorskip("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
    async with saver_of.from_conn_string(str(folder / "langgraph.sqlite")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=FULL")
        return await of(graph.compile(checkpointer=saver))


def test_a_pipeline_beside_langgraph(
    benchmark: Any, record_ratio: Any, system: Any, pipeline: PipelineConfig, tmp_path: Path
) -> None:
    pytest.importorskip("langgraph.graph")
    with asyncio.Runner() as loop:
        rate, cost_ms = loop.run(ours(system, pipeline))
        told = [f"{rate:,.0f} runs/s, {cost_ms:.2f} ms of CPU for a run"]
        for name, folder in (("LangGraph", None), ("LangGraph with SQLite", tmp_path)):
            other_rate, other_ms = loop.run(theirs(pipeline, folder))
            told.append(f"{name} {other_rate:,.0f} ({rate / other_rate:.2f} x), {other_ms:.2f} ms")
            benchmark.extra_info[name] = {"rate_ratio": rate / other_rate, "cpu_ratio": cost_ms / other_ms}
    benchmark.pedantic(lambda: None, rounds=1)
    record_ratio(f"{benchmark.name}: {'; '.join(told)}")
