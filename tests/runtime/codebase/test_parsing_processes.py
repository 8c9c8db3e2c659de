"""Files of large repositories are parsed in processes of their own, and nothing else differs."""

from __future__ import annotations

import shutil
import sqlite3
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runtime.codebase.index.parsing_processes import (
    AHEAD_FILES,
    FATAL,
    MAX_FATAL_FILES,
    TOO_MANY_FATAL,
    WORTH_CHARS,
    processes_beside,
)
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.processes.worker_process import WorkerProcess

PLACE = "tests.runtime.codebase.parsed_apart"
TABLES = ("files", "symbols", "refs", "imports", "facts", "chunks", "chunk_vectors", "passages")
# More than a process has when it starts to parse, and less than that file takes.
TOO_LITTLE_BYTES = 200_000_000
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


def test_an_index_is_the_same_when_a_process_that_parses_dies(
    large: Path, tmp_path: Path, worker: WorkerProcess
) -> None:
    made = {}
    for function in ("index_while_one_dies", "index"):
        path = tmp_path / function / "index.sqlite"
        more = {"processes": 2} if function == "index" else {}
        worker.call(f"{PLACE}:{function}", {"root": str(large), "index_path": str(path), **more})
        made[function] = rows_of(path)
    assert made["index_while_one_dies"] == made["index"]


def test_what_was_under_way_when_a_process_died_is_parsed_again(worker: WorkerProcess) -> None:
    assert worker.call(f"{PLACE}:begin_after_one_died", {}) == [WORTH_CHARS, 1]


def test_a_file_that_ends_each_process_that_parses_it_is_read_as_text(tmp_path: Path, worker: WorkerProcess) -> None:
    path = tmp_path / "state" / "index.sqlite"
    root = hostile(tmp_path)
    worker.call(
        f"{PLACE}:index_suspects", {"root": str(root), "index_path": str(path), "memory_bytes": TOO_LITTLE_BYTES}
    )
    assert told_of(path) == [("Bomb.java", "failed", FATAL), ("app.py", "parsed", "")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("bombs", "status"), [(MAX_FATAL_FILES - 1, "parsed"), (MAX_FATAL_FILES, "failed"), (MAX_FATAL_FILES + 1, "failed")]
)
def test_after_many_files_that_end_processes_no_larger_one_is_parsed(
    tmp_path: Path, worker: WorkerProcess, bombs: int, status: str
) -> None:
    path, root = tmp_path / "state" / "index.sqlite", hostile(tmp_path)
    for number in range(1, bombs):
        shutil.copy(root / "Bomb.java", root / f"Bomb{number:02}.java")
    # More than are read ahead of what is known.
    for number in range(2 * AHEAD_FILES):
        (root / f"between{number}.py").write_text("")
    (root / "large.py").write_text("def run():\n    return 1\n" * 50)
    worker.call(
        f"{PLACE}:index_suspects", {"root": str(root), "index_path": str(path), "memory_bytes": TOO_LITTLE_BYTES}
    )
    told = {str(file): (found, note) for file, found, note in told_of(path)}
    assert told["app.py"] == ("parsed", "")
    assert told["large.py"] == (status, TOO_MANY_FATAL if status == "failed" else "")
    assert {note for file, (_, note) in told.items() if file.startswith("Bomb")} <= {FATAL, TOO_MANY_FATAL}


@pytest.mark.long
async def test_a_file_that_ends_the_process_of_an_index_does_not_keep_others_from_being_indexed(tmp_path: Path) -> None:
    service = IndexService(tmp_path / "state", IndexOptions(memory_bytes=TOO_LITTLE_BYTES))
    try:
        found = await service.refresh(str(hostile(tmp_path)))
    finally:
        service.close()
    assert told_of(Path(found["index_path"])) == [("Bomb.java", "failed", FATAL), ("app.py", "parsed", "")]


def hostile(tmp_path: Path) -> Path:
    """A repository with a file that takes a parser half a gigabyte: its brackets are closed in comments alone."""
    root = tmp_path / "hostile"
    root.mkdir()
    (root / "Bomb.java").write_text("class Bomb { void stir() {} }\n" + "%w(//)\n" * 1_500)
    (root / "app.py").write_text("def run():\n    return 1\n")
    return root


def told_of(index_path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(index_path)) as connection:
        return connection.execute("SELECT path, status, note FROM files ORDER BY path").fetchall()


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


@pytest.mark.parametrize(
    ("memory_bytes", "cores", "processes"), [(4_000_000_000, 1, 1), (1, 4, 1), (4_000_000_000, 3, 3)]
)
def test_where_a_file_is_suspect_there_is_a_process_at_least(memory_bytes: int, cores: int, processes: int) -> None:
    assert processes_beside(memory_bytes, cores, is_suspect=True) == processes
