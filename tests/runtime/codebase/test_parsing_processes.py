"""Files of large repositories are parsed in processes of their own, and nothing else differs."""

from __future__ import annotations

import shutil
import sqlite3
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runtime.codebase.index.parsing_processes import WORTH_CHARS, processes_beside
from runtime.errors import ProcessDiedError
from runtime.processes.worker_process import WorkerProcess

PLACE = "tests.runtime.codebase.parsed_apart"
TABLES = ("files", "symbols", "refs", "imports", "facts", "chunks", "chunk_vectors", "passages")
TEXTS = ("chunk_text_content", "passage_text_content")


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    worker = WorkerProcess()
    yield worker
    worker.kill()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    root = tmp_path / "large"
    root.mkdir()
    copied = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        shutil.copy(path, root)
        copied += path.stat().st_size
        if copied > 2 * WORTH_CHARS:
            return root
    raise AssertionError("the standard library is too small")


def rows_of(index_path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(index_path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in (*TABLES, *TEXTS)}


def test_an_index_is_the_same_however_many_processes_parse(large: Path, tmp_path: Path, worker: WorkerProcess) -> None:
    made = {}
    for processes in (0, 1, 3):
        path = tmp_path / f"by-{processes}" / "index.sqlite"
        arguments = {"root": str(large), "index_path": str(path), "processes": processes}
        assert worker.call(f"{PLACE}:index", arguments) == processes
        made[processes] = rows_of(path)
    assert made[0]["symbols"]
    assert made[1] == made[0]
    assert made[3] == made[0]


def test_a_small_repository_is_parsed_by_the_process_that_writes(tmp_path: Path, worker: WorkerProcess) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "app.py").write_text("def run():\n    return 1\n")
    path = tmp_path / "state" / "index.sqlite"
    arguments = {"root": str(tmp_path / "small"), "index_path": str(path), "processes": 4}
    assert worker.call(f"{PLACE}:index", arguments) == 0


def test_a_refresh_ends_when_a_process_that_parses_dies_and_leaves_no_index(
    large: Path, tmp_path: Path, worker: WorkerProcess
) -> None:
    path = tmp_path / "state" / "index.sqlite"
    with pytest.raises(ProcessDiedError, match=r"a process that parsed files ended before it had parsed \w+\.py"):
        worker.call(f"{PLACE}:index_while_one_dies", {"root": str(large), "index_path": str(path)})
    assert not path.exists()


def test_a_file_that_comes_after_a_process_died_is_named(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessDiedError, match=r"a process that parsed files ended before it had parsed second\.py"):
        worker.call(f"{PLACE}:begin_after_one_died", {})


@pytest.mark.parametrize(
    ("memory_bytes", "cores", "processes"),
    [
        (4_000_000_000, 1, 0),
        (4_000_000_000, 2, 2),
        (4_000_000_000, 3, 3),
        (4_000_000_000, 64, 4),
        (3_999_999_999, 64, 3),
        (1_000_000_000, 2, 1),
        (999_999_999, 2, 0),
    ],
)
def test_there_is_a_process_for_each_core_as_far_as_the_memory_goes(
    memory_bytes: int, cores: int, processes: int
) -> None:
    assert processes_beside(memory_bytes, cores) == processes
