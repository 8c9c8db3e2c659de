"""What the HTTP service adds to a run, and how many reads of a run's state it answers.

A whole service is asked over connections that stay open. The time of a run is the one that its answer tells, so that
what is measured is all around it: the door, the index that is looked at first, and the way to the supervisor.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.benchmarks.conftest import TellRows
from tests.doors.program import Program
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import MESSAGES, Service
from tests.free_ports import free_port

# Promised for a machine that does nothing else; under others' load the figures are told and held against nothing.
MOST_OVERHEAD_MS = 15.0
LEAST_READS_PER_S = 200.0
QUESTIONS = 24
READERS, READS = 8, 100
TOPIC = "HTTP"

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("http")
    running = Service(Program(folder / "state"), [write_files(folder / "repo", FILES)], free_port())
    try:
        running.wait_until_it_listens()
        yield running
    finally:
        running.stop()


def is_loaded() -> bool:
    """Whether more was to be done in the last minutes than this machine's processors can do."""
    return os.getloadavg()[1] > len(os.sched_getaffinity(0))


class Line:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def asked(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of a good answer."""
        told = None if body is None else json.dumps(body)
        self._connection.request(method, path, told, {} if body is None else {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        data = response.read()
        assert response.status == 200, data
        return json.loads(data)

    def reply_ms(self) -> float:
        """How long a reply takes that needs no run."""
        started_s = time.perf_counter()
        self.asked("GET", "/health")
        return 1_000 * (time.perf_counter() - started_s)

    def overhead_ms(self) -> float:
        """How much longer than its run the answer to a question took."""
        started_s = time.perf_counter()
        document = self.asked("POST", MESSAGES, {"message": QUESTION})
        took_ms = 1_000 * (time.perf_counter() - started_s)
        return took_ms - float(document["usage"]["duration_ms"])


@pytest.fixture
def lines(service: Service) -> Iterator[list[Line]]:
    opened = [Line(service.port) for _ in range(READERS)]
    yield opened
    for line in opened:
        line.close()


@pytest.mark.benchmark(group="http")
def test_the_gateway_adds_little_to_a_run(benchmark: Any, tell_rows: TellRows, lines: list[Line]) -> None:
    line = lines[0]
    overheads = [line.overhead_ms() for _ in range(QUESTIONS // 4)]  # warm
    overheads.clear()
    benchmark.pedantic(lambda: overheads.append(line.overhead_ms()), rounds=QUESTIONS)
    p50, reply_ms = statistics.median(overheads), statistics.median(line.reply_ms() for _ in range(QUESTIONS))
    benchmark.extra_info |= {"overhead_p50_ms": p50, "overhead_max_ms": max(overheads), "reply_p50_ms": reply_ms}
    rows = {"what the service adds to a run": p50, "a reply that needs no run": reply_ms}
    tell_rows(TOPIC, "one question at a time", {who: {"p50, ms": took_ms} for who, took_ms in rows.items()})
    assert p50 <= MOST_OVERHEAD_MS or is_loaded(), benchmark.extra_info


@pytest.mark.benchmark(group="http")
def test_reads_of_a_runs_state_are_answered_often_enough(
    benchmark: Any, tell_rows: TellRows, lines: list[Line]
) -> None:
    run_id = lines[0].asked("POST", MESSAGES, {"message": QUESTION})["run_id"]

    def read(line: Line) -> None:
        for _ in range(READS):
            assert line.asked("GET", f"/api/v1/runs/{run_id}")["run_id"] == run_id

    with ThreadPoolExecutor(READERS) as threads:
        benchmark.pedantic(lambda: list(threads.map(read, lines)), rounds=3, warmup_rounds=1)
    rate = READERS * READS / benchmark.stats.stats.min
    benchmark.extra_info |= {"reads_per_s": rate}
    tell_rows(TOPIC, f"the state of a run, {READERS} connections", {"here": {"reads/s": rate}})
    assert rate >= LEAST_READS_PER_S or is_loaded(), benchmark.extra_info
