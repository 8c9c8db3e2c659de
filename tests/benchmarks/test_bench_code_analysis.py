"""What answering costs: indexing, finding, and a whole run on a package of this environment."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.locate import locate
from tests.benchmarks.conftest import Report
from tests.capabilities.code_analysis.support import AnalysisHarness

PACKAGE = "starlette"
QUESTION = "How does the router match a request to an endpoint?"


@pytest.fixture(scope="module")
def root() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def codebase(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codebase]:
    path = tmp_path_factory.mktemp("bench") / "index.sqlite"
    refresh(root, path)
    opened = Codebase.open(root, path)
    yield opened
    opened.close()


def read_and_hash(root: Path) -> int:
    """The lines of a package's sources, each file read and hashed."""
    lines = 0
    for path in root.rglob("*.py"):
        data = path.read_bytes()
        hashlib.sha256(data).hexdigest()
        lines += data.count(b"\n")
    return lines


def test_indexing_a_package(benchmark: Any, held_against: Report, root: Path, tmp_path: Path) -> None:
    fresh = itertools.count()

    def index() -> int:
        return refresh(root, tmp_path / str(next(fresh)) / "index.sqlite").lines

    lines = benchmark.pedantic(index, rounds=3, warmup_rounds=1)
    assert lines >= read_and_hash(root) > 0
    held_against(lambda: read_and_hash(root), "lines", lines, named="reading and hashing the files")


def test_refreshing_an_index_that_is_up_to_date(
    benchmark: Any, held_against: Report, root: Path, tmp_path: Path
) -> None:
    lines = refresh(root, tmp_path / "index.sqlite").lines
    stats = benchmark(lambda: refresh(root, tmp_path / "index.sqlite"))
    assert stats.parsed_now == 0
    held_against(lambda: read_and_hash(root), "lines", lines, named="reading and hashing the files")


@pytest.mark.parametrize("query", ["Route.matches", QUESTION], ids=["name", "question"])
def test_locating_in_a_warm_index(benchmark: Any, held_against: Report, codebase: Codebase, query: str) -> None:
    result = benchmark(locate, codebase, query)
    assert result.citations[0].file == "routing.py"
    held_against(lambda: codebase.index.rows("SELECT count(*) FROM symbols"), "calls", named="one SQL count")


def test_a_whole_local_run_on_an_indexed_package(
    benchmark: Any, held_against: Report, root: Path, tmp_path: Path, codebase: Codebase
) -> None:
    desk = asyncio.run(AnalysisHarness.open(root, tmp_path / "state"))
    took_ms: list[int] = []

    def run() -> dict[str, Any]:
        document = asyncio.run(desk.ask(QUESTION))
        took_ms.append(document["usage"]["duration_ms"])
        return document

    document = benchmark.pedantic(run, rounds=10, warmup_rounds=1)
    assert document["citations"]
    if benchmark.stats is not None:
        benchmark.extra_info |= {"median_ms": statistics.median(took_ms), "tool_calls": document["usage"]["tool_calls"]}
    held_against(lambda: locate(codebase, QUESTION), "runs", named="one search")
