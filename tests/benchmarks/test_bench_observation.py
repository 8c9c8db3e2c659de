"""What traces and metrics cost: a whole system with and without them, and their work on the events of a run alone.

One system is switched between its rounds, in turns, so that all ways are measured in the same processes under the same
load. A round with traces traces every run, and ends when its spans are sent, to a collector beside; with metrics, all
is counted. After every round `GET /metrics` is answered. Each round is held against that without either in the same
turn. Told are the middles of these ratios, and between which they lie by 95 %, by the Walsh averages of their
logarithms: neither asks for a shape of the noise.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client import generate_latest

from actors.tracing.trace_export import SpanExport, TraceOptions
from runtime.hosting.run_meter import RunMeter
from runtime.hosting.write_batch import observed
from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Request
from runtime.store.options import StoreOptions
from runtime.supervision.decide import decide
from runtime.supervision.events import Event
from runtime.supervision.state import Decision, RunState, new_state
from runtime.testing import Bench, PipelineBuilder
from serve.http.answering.service import Service, ServiceSpec
from tests.benchmarks.conftest import Report, TellRows
from tests.benchmarks.idle_capability import NAMES
from tests.benchmarks.observation import Seen, flush, switch
from tests.benchmarks.pacing import Pace, cpu_s, middle_between, paced
from tests.benchmarks.test_bench_pipelines import own_pids, system_of

AT_ONCE = 16
# They take the second within which spans are sent, so that most are sent while runs go on, as in life.
RUNS = 1_024
WARM_UP = 1_000
# As many turns as begin within this time; fewer say too little.
MEASURED_FOR_S, LEAST_TURNS = 240, 12
MEASURES = {"runs_per_s": "runs/s", "cpu_ms": "CPU of a run, ms"}
RATIOS = {"runs_per_s": "runs/s", "cpu_ms": "CPU"}
WITHOUT, TRACES, METRICS, BOTH = "without", "with traces", "with metrics", "with traces and metrics"
TOPIC = "Traces and metrics"
# The goal: the loss of runs per second that there is proof of is at most 3 %.
LEAST_RATE = 0.97
MOST_CPU = 1.25
# Of what it costs to decide on the same events.
MOST_OF_DECIDING = 0.4


def short_pipeline() -> PipelineConfig:
    """Three stages in a row."""
    first, second, third = NAMES[:3]
    builder = PipelineBuilder("short", capability="idle").stage(first, default_next=second)
    return builder.stage(second, default_next=third).stage(third).build()


class Collector(NamedTuple):
    """A collector for spans: its address, and what ends it and gives their number."""

    endpoint: str
    counted: Callable[[], int]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.span_collector"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        input_, output = process.stdin, process.stdout

        def counted() -> int:
            input_.close()
            return int(output.readline())

        yield Collector(f"http://127.0.0.1:{int(output.readline())}/v1/traces", counted)
        input_.close()


@pytest.mark.ray
@pytest.mark.timeout(900)
def test_a_system_with_traces_and_metrics(
    benchmark: Any, tell_rows: TellRows, collector: Collector, tmp_path: Path
) -> None:
    endpoint = collector.endpoint
    ways = {WITHOUT: Seen(), TRACES: Seen(endpoint), METRICS: Seen(None, True), BOTH: Seen(endpoint, True)}
    with asyncio.Runner() as loop, system_of(short_pipeline(), tmp_path) as system:
        found, scrape_ms = loop.run(in_turns(system, ways, tmp_path))
    turns = len(found[WITHOUT])
    assert turns >= LEAST_TURNS
    assert collector.counted() == 2 * turns * RUNS * 4
    benchmark.pedantic(lambda: None, rounds=1)
    rows = {who: row_of(paces, found[WITHOUT]) for who, paces in found.items()}
    tell_rows(TOPIC, f"three stages in a row, {AT_ONCE} at once", rows)
    tell_rows(TOPIC, "an answer to GET /metrics", {"here": {"CPU, ms": scrape_ms}})
    assert rows[BOTH]["runs/s: to"] >= LEAST_RATE
    assert rows[BOTH]["CPU: ratio"] <= MOST_CPU


def row_of(paces: Sequence[Pace], without: Sequence[Pace]) -> dict[str, float]:
    """Return the medians of a way, and those of its ratios to the rounds without in the same turns."""
    row = {told: statistics.median(getattr(pace, field) for pace in paces) for field, told in MEASURES.items()}
    if paces is without:
        return row | {"turns": len(paces)}
    for field, told in RATIOS.items():
        pairs = zip(paces, without, strict=True)
        low, middle, high = middle_between([getattr(pace, field) / getattr(other, field) for pace, other in pairs])
        row |= {f"{told}: ratio": middle, f"{told}: from": low, f"{told}: to": high}
    return row


async def in_turns(system: Any, ways: dict[str, Seen], folder: Path) -> tuple[dict[str, list[Pace]], float]:
    """Return the pace of each round of each way, and CPU of an answer to `GET /metrics` in milliseconds."""
    await system.ready()
    spec = ServiceSpec("short", {"short": ()}, {"none": str(folder)}, "rules", 1_000, StoreOptions(str(folder)))
    service = Service(system, spec)

    async def run() -> None:
        run_id = await system.submit(Request("short", "?"))
        last = [event async for event in system.watch(run_id)][-1]
        assert last.data["terminal_reason"] == "completed"

    async def scraped() -> None:
        assert b"jeeves_hops_total" in generate_latest(await service.update_metrics())

    await paced(run, WARM_UP, AT_ONCE, list)
    pids = own_pids()
    found: dict[str, list[Pace]] = {who: [] for who in ways}
    scrapes_ms: list[float] = []
    ends_s = time.perf_counter() + MEASURED_FOR_S
    for turn in itertools.count():
        if time.perf_counter() > ends_s:
            break
        for who in turn_order(list(ways), turn):
            seen = ways[who]
            await switch(system, seen)
            before_s, began_s = cpu_s(pids), time.perf_counter()
            await paced(run, RUNS, AT_ONCE, list)
            await flush(system)
            took_s, spent_s = time.perf_counter() - began_s, cpu_s(pids) - before_s
            found[who].append(Pace(RUNS / took_s, spent_s / RUNS * 1e3))
            before_s = cpu_s(pids)
            await scraped()
            if seen.is_counted:
                scrapes_ms.append((cpu_s(pids) - before_s) * 1e3)
    return found, statistics.median(scrapes_ms)


def turn_order(ways: Sequence[str], turn: int) -> list[str]:
    """Return the order of an even number of ways in a turn: within as many turns, each follows each other one once.

    What a round leaves behind in caches and queues then weighs on all ways alike (E. J. Williams, 1949).
    """
    amount = len(ways)
    return [ways[(turn + (place + 1) // 2 * (-1) ** (place + 1)) % amount] for place in range(amount)]


def test_within_as_many_turns_as_ways_each_follows_each_other_once() -> None:
    ways = ["a", "b", "c", "d"]
    follow = [pair for turn in range(4) for pair in itertools.pairwise(turn_order(ways, turn))]
    assert sorted(follow) == [(one, other) for one in ways for other in ways if one != other]


def test_counting_and_tracing_the_events_of_a_run(benchmark: Any, held_against: Report) -> None:
    decided = decided_run()
    meter = RunMeter()
    export = SpanExport(TraceOptions("http://127.0.0.1:9/v1/traces"), "supervisor")

    def observe() -> None:
        for each in decided:
            seen = observed(*each)
            meter.add(seen.counts)
            for span in seen.spans:
                export.emit(span)

    def floor() -> None:
        for config, before, event, _ in decided:
            decide(config, before, event)

    benchmark(observe)
    held_against(floor, "events", len(decided), named="deciding on them")
    assert benchmark.extra_info["ratio"] <= MOST_OF_DECIDING


def decided_run() -> list[tuple[PipelineConfig, RunState, Event, Decision]]:
    """A run of three stages that do nothing: each event, and what was decided on it."""
    bench = Bench(short_pipeline())
    bench.request()
    for _ in range(3):
        bench.start()
        bench.succeed({})
    assert bench.envelope.terminal_reason == "completed"
    state, decided = new_state(bench.run_id), []
    for event in bench.log:
        decision = decide(bench.config, state, event)
        decided.append((bench.config, state, event, decision))
        state = decision.state
    return decided
