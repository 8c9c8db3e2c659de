"""What the HTTP service adds to a run, and how many reads of a run's state it answers.

A whole service is asked over connections that stay open. The time of a run is the one that its answer tells, so that
what is measured is all around it: the door, the index that is looked at first, and the way to the supervisor.
"""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.benchmarks.conftest import best_s
from tests.doors.program import Program
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import MESSAGES, Service, free_port

# A reply that needs no run takes a millisecond on a machine that does nothing else: the figures that are promised there
# are 15 ms of overhead and 200 reads/s. Others' load lengthens both, so that each is held against such replies.
MOST_OVERHEAD_MS = 15.0
LEAST_READS_PER_S = 200.0
MOST_REPLIES = 15.0
LEAST_SHARE_OF_REPLIES = 0.2
QUESTIONS = 40
READERS, READS = 8, 100

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


class Line:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

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


@pytest.mark.benchmark(group="http")
def test_the_gateway_adds_little_to_a_run(benchmark: Any, service: Service) -> None:
    line = Line(service.port)
    overheads = [line.overhead_ms() for _ in range(QUESTIONS // 4)]  # warm
    overheads.clear()
    benchmark.pedantic(lambda: overheads.append(line.overhead_ms()), rounds=QUESTIONS)
    p50, reply_ms = statistics.median(overheads), statistics.median(line.reply_ms() for _ in range(QUESTIONS))
    benchmark.extra_info |= {"overhead_p50_ms": p50, "overhead_max_ms": max(overheads), "reply_p50_ms": reply_ms}
    assert p50 <= max(MOST_OVERHEAD_MS, MOST_REPLIES * reply_ms)


@pytest.mark.benchmark(group="http")
def test_reads_of_a_runs_state_are_answered_often_enough(benchmark: Any, service: Service) -> None:
    run_id = Line(service.port).asked("POST", MESSAGES, {"message": QUESTION})["run_id"]
    lines = [Line(service.port) for _ in range(READERS)]

    def read(line: Line) -> None:
        for _ in range(READS):
            assert line.asked("GET", f"/api/v1/runs/{run_id}")["run_id"] == run_id

    def replies(line: Line) -> None:
        for _ in range(READS):
            line.reply_ms()

    with ThreadPoolExecutor(READERS) as threads:
        benchmark.pedantic(lambda: list(threads.map(read, lines)), rounds=3, warmup_rounds=1)
        replies_s = best_s(lambda: list(threads.map(replies, lines)), 3)
    rate, replies_rate = READERS * READS / benchmark.stats.stats.min, READERS * READS / replies_s
    benchmark.extra_info |= {"reads_per_s": rate, "replies_per_s": replies_rate}
    assert rate >= min(LEAST_READS_PER_S, LEAST_SHARE_OF_REPLIES * replies_rate)
