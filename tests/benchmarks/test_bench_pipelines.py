"""Whole pipelines of stages that do nothing, beside other frameworks: runs per second and CPU per run.

Here each stage is an actor of its own, every message goes through the bus, and every hop is on the disk before the next
one begins; once more with the run log in memory and never waited for. The others are `peer_pipelines`, each in a
process of its own; the rounds of all take turns, so that the load of the machine hits all alike. The state is 4 KB.
CPU here is that of the agents, the bus, the supervisor and the process that asks; Ray's own daemons are left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from runtime.testing import PipelineBuilder
from tests.benchmarks.conftest import TellRows
from tests.benchmarks.idle_capability import NAMES
from tests.benchmarks.pacing import Pace, best, children, cpu_s, memory_mb, paced
from tests.conformance.hosts import system_spec

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1_200)]

RUNS = {1: 100, 16: 300, 128: 600}
ROUNDS = 3
WARM_UP = 32
IN_FLIGHT = (128, 1_000, 10_000)
# What fewer runs hold is lost in what processes take and give back meanwhile.
MEASURABLE = 1_000
CALLS_AT_ONCE = 1_000
TEXT = "x" * 4_000
PEERS_PYTHON = "JEEVES_PEERS_PYTHON"
IN_MEMORY = Path("/dev/shm")
IDLE = "tests.benchmarks.idle_capability:CAPABILITY"
OURS = ("ray::AgentActor", "ray::CommBusActor", "ray::SupervisorActor")
HERE, HERE_IN_MEMORY = "here, every hop on the disk", "here, run log in memory"
PEERS = {
    "langgraph_sqlite": "LangGraph, SQLite saver",
    "langgraph": "LangGraph, no checkpoints",
    "pydantic_graph": "pydantic-graph, one process",
    "autogen": "AutoGen core, one process",
    "autogen_grpc": "AutoGen core, gRPC between processes",
}
TITLES = {"seq7": "seven stages in a row", "diamond8": "eight branches and a join"}
SHAPES = {"seq7": ("7", "0"), "diamond8": ("0", "8")}

Round = Callable[[int, int], Awaitable[Pace]]


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


@pytest.fixture(params=[seq7, diamond8], ids=["seq7", "diamond8"])
def pipeline(request: pytest.FixtureRequest) -> PipelineConfig:
    built: PipelineConfig = request.param()
    return built


@contextlib.contextmanager
def system_of(pipeline: PipelineConfig, folder: Path, **log: str) -> Iterator[Any]:
    """A system of actors on a Ray cluster of its own, its run log below the folder."""
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    cluster = start_local(RaySettings(), folder)
    try:
        told = system_spec(folder, (pipeline,)) | {"capabilities": {pipeline.name: IDLE}}
        told |= {"store": {"folder": str(folder), **log}}
        yield start_system(SystemSpec(**told))
    finally:
        cluster.shutdown()


async def round_of(system: Any, pipeline: PipelineConfig) -> Round:
    """Return what makes a round of runs here, once the system is warm."""
    await system.ready()

    async def run() -> None:
        run_id = await system.submit(Request(pipeline.name, TEXT))
        last = [event async for event in system.watch(run_id)][-1]
        assert last.data["terminal_reason"] == "completed"

    for _ in range(WARM_UP):
        await run()
    return lambda runs, at_once: paced(run, runs, at_once, own_pids)


def own_pids() -> list[int]:
    """The processes that carry runs here, this one first."""
    # Ray appends the method that a process is in.
    return [os.getpid(), *(pid for pid, name in children().items() if name.partition(".")[0] in OURS)]


@contextlib.contextmanager
def peer(framework: str, pipeline: PipelineConfig) -> Iterator[Round]:
    """Another framework in a process of its own; what makes a round of its runs."""
    command = [os.environ[PEERS_PYTHON], "-m", "tests.benchmarks.peer_pipelines", framework, *SHAPES[pipeline.name]]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        written, told = process.stdin, process.stdout
        assert told.readline() == "ready\n"

        async def made(runs: int, at_once: int) -> Pace:
            written.write(f"{runs} {at_once}\n")
            written.flush()
            return Pace(**json.loads(await asyncio.to_thread(told.readline)))

        yield made
        written.close()


async def in_turns(ways: dict[str, Round], at_once: int) -> dict[str, Pace]:
    """Return the best of some rounds of each, made in turns."""
    found: dict[str, list[Pace]] = {who: [] for who in ways}
    for _ in range(ROUNDS):
        for who, made in ways.items():
            found[who].append(await made(RUNS[at_once], at_once))
    return {who: best(rounds) for who, rounds in found.items()}


@pytest.fixture
def peers(pipeline: PipelineConfig) -> Iterator[dict[str, Round]]:
    """What makes a round of each other framework, by the name that the page has for it."""
    if PEERS_PYTHON not in os.environ:
        pytest.skip(f"{PEERS_PYTHON} names no Python that has the dependency group `peers`; `make bench` makes one")
    with contextlib.ExitStack() as stack:
        yield {title: stack.enter_context(peer(framework, pipeline)) for framework, title in PEERS.items()}


def test_a_pipeline_beside_other_frameworks(
    benchmark: Any, tell_rows: TellRows, pipeline: PipelineConfig, peers: dict[str, Round], tmp_path: Path
) -> None:
    found: dict[int, dict[str, Pace]] = {}
    with asyncio.Runner() as loop:
        with system_of(pipeline, tmp_path) as system:
            ways = {HERE: loop.run(round_of(system, pipeline)), **peers}
            for at_once in RUNS:
                found[at_once] = loop.run(in_turns(ways, at_once))
        with (
            tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
            system_of(pipeline, Path(folder), durability="normal") as system,
        ):
            ways = {HERE_IN_MEMORY: loop.run(round_of(system, pipeline))}
            for at_once in RUNS:
                found[at_once] |= loop.run(in_turns(ways, at_once))
    benchmark.pedantic(lambda: None, rounds=1)
    for at_once, paces in found.items():
        rows = {who: {"runs/s": pace.runs_per_s, "CPU of a run, ms": pace.cpu_ms} for who, pace in paces.items()}
        tell_rows("Pipelines", f"{TITLES[pipeline.name]}, {at_once} at once", rows)


def test_runs_in_flight(benchmark: Any, tell_rows: TellRows, tmp_path: Path) -> None:
    """What a run costs while few are under way, and when ten thousand are submitted before any is waited for."""
    pipeline = seq7()
    rows: dict[str, dict[str, float]] = {}
    memory: dict[str, dict[str, float]] = {}
    with asyncio.Runner() as loop, system_of(pipeline, tmp_path) as system:
        loop.run(round_of(system, pipeline))
        # Processes give little back, so that all is held against what they had before.
        idle_mb = memory_mb(own_pids()[1:])
        for count in IN_FLIGHT:
            pace, waiting, held_mb = loop.run(all_submitted(system, pipeline, count))
            told = {"runs/s": pace.runs_per_s, "CPU of a run, ms": pace.cpu_ms, "unfinished when all were in": waiting}
            rows[f"{count:,} submitted at once"] = told
            if count >= MEASURABLE:
                more_mb = held_mb - idle_mb
                memory[f"{count:,} in flight"] = {"MB more": more_mb, "MB for 1,000 runs": more_mb * 1_000 / waiting}
    benchmark.pedantic(lambda: None, rounds=1)
    tell_rows("Pipelines", "seven stages in a row, more and more at once", rows)
    tell_rows("Start and memory", "memory of runs in flight: bus, supervisor and agents of seven stages", memory)


async def all_submitted(system: Any, pipeline: PipelineConfig, count: int) -> tuple[Pace, int, float]:
    """Submit `count` runs, then wait for each.

    Return their pace, how many had not ended when all were in, and the memory of the system then.
    """
    room = asyncio.Semaphore(CALLS_AT_ONCE)

    async def submitted() -> Any:
        async with room:
            return await system.submit(Request(pipeline.name, TEXT))

    async def ended(run_id: Any) -> bool:
        async with room:
            return bool([event async for event in system.watch(run_id)][-1].data["terminal_reason"] == "completed")

    counted = own_pids()
    began_s, before_s = time.perf_counter(), cpu_s(counted)
    run_ids = await asyncio.gather(*(submitted() for _ in range(count)))
    waiting = await system.running()
    held_mb = memory_mb(counted[1:])
    assert all(await asyncio.gather(*map(ended, run_ids)))
    took_s = time.perf_counter() - began_s
    return Pace(count / took_s, (cpu_s(counted) - before_s) / count * 1e3), waiting, held_mb
