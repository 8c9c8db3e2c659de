"""How long commands take to say something, cold and warm, and what memory a warm system holds.

A cold question is held against Ray with as many actors that do nothing; both start from nothing and stop again.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.conftest import TellRows, best_s
from tests.benchmarks.pacing import children, memory_mb
from tests.doors.program import JEEVES, Program, processes_that_mention
from tests.doors.sample_repo import QUESTION

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

ROUNDS = 3
WARM_QUESTIONS = 12
TOPIC = "Start and memory"
REPOSITORY = Path(pytest.__file__).parents[1] / "_pytest"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path / "state")
    assert program.ask(QUESTION, REPOSITORY).document["run_id"]  # the index is there from now on
    return program


def first_line_s(process: subprocess.Popen[str]) -> float:
    """Return how long the process, just started, took to its first line; it is then left to end."""
    assert process.stdout is not None
    began_s = time.perf_counter()
    line = process.stdout.readline()
    took_s = time.perf_counter() - began_s
    assert line, "it said nothing"
    process.communicate(timeout=60)
    return took_s


def empty(count: int) -> subprocess.Popen[str]:
    """Start Ray with actors that do nothing."""
    command = [sys.executable, "-m", "tests.benchmarks.empty_actors", str(count)]
    where = Path(__file__).parents[2]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=where)


@pytest.fixture
def warm(program: Program) -> Iterator[Program]:
    program.run("up").answers()
    yield program
    program.run("down").answers()


def actors_among(pids: Iterable[int]) -> list[int]:
    """The processes of actors among these."""
    names = {pid: Path("/proc", str(pid), "cmdline").read_bytes() for pid in pids}
    return [pid for pid, name in names.items() if name.startswith(b"ray::") and b"IDLE" not in name]


def actor_mb(actors: Sequence[int]) -> float:
    """The memory of the one in the middle."""
    return statistics.median(memory_mb([pid]) for pid in actors)


def test_the_help_of_the_program(benchmark: Any, tell_rows: TellRows) -> None:
    def run(*command: str) -> None:
        # Any JEEVES_ variable has the settings imported, to see whether it is one of them.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("JEEVES_")}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    benchmark.pedantic(lambda: run(str(JEEVES), "--help"), rounds=5, warmup_rounds=1)
    bare_s = best_s(lambda: run(sys.executable, "-c", "pass"))
    rows = {"jeeves --help": benchmark.stats.stats.min, "python -c pass": bare_s}
    tell_rows(TOPIC, "a command that only prints", {who: {"ms": took_s * 1e3} for who, took_s in rows.items()})


def test_a_cold_and_a_warm_question_and_their_memory(benchmark: Any, tell_rows: TellRows, warm: Program) -> None:
    ask = ("ask", QUESTION, "--repo", str(REPOSITORY), "--json")
    pids = processes_that_mention(str(warm.state_dir))
    actors = actors_among(pids)
    count, held_mb, each_mb = len(actors), memory_mb(pids), actor_mb(actors)
    warm_s = [first_line_s(warm.start(*ask)) for _ in range(WARM_QUESTIONS)]
    after_mb = memory_mb(processes_that_mention(str(warm.state_dir)))
    warm.run("down").answers()
    cold_s, empty_s, empty_mb, each_empty_mb = [], [], [], []
    for _ in range(ROUNDS):
        cold_s.append(first_line_s(warm.start(*ask)))
        began_s, process = time.perf_counter(), empty(count)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        empty_s.append(time.perf_counter() - began_s)
        empty_mb.append(memory_mb(children()))
        each_empty_mb.append(actor_mb(actors_among(children())))
        process.communicate(timeout=60)
    warm.run("up").answers()
    benchmark.pedantic(lambda: None, rounds=1)
    tell_rows(
        TOPIC,
        f"a question about {REPOSITORY.name}, its index up to date",
        {
            "here, warm system, p50": {"s": statistics.median(warm_s)},
            "here, cold, until the answer": {"s": min(cold_s)},
            f"Ray and {count} actors that do nothing": {"s": min(empty_s)},
        },
    )
    tell_rows(
        TOPIC,
        "memory, proportional set size of all processes",
        {
            "here, warm system": {"MB": held_mb},
            f"here, after {WARM_QUESTIONS} questions": {"MB": after_mb},
            f"Ray and {count} actors that do nothing": {"MB": min(empty_mb)},
        },
    )
    each = {"here": {"MB": each_mb}, "an actor of Ray that does nothing": {"MB": min(each_empty_mb)}}
    tell_rows(TOPIC, f"memory of one actor, the median of {count}", each)
