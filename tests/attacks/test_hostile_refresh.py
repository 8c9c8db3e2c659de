"""Work on a repository ends in time, whatever the repository does, and harms no index and nobody else."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.errors import ProcessError, RepositoryError
from tests.attacks.hostile_folders import GOOD, HOSTILE, made

pytestmark = pytest.mark.long

WITHIN_S = 60.0


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[IndexService]:
    served = IndexService(tmp_path / "state", IndexOptions(timeout_s=WITHIN_S))
    yield served
    served.close()


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexService]:
    """For tests that harm nothing: a process of it that was not slowed serves the next test as well."""
    served = IndexService(tmp_path_factory.mktemp("shared") / "state", IndexOptions(timeout_s=WITHIN_S))
    yield served
    served.close()


def endless(folder: Path) -> Path:
    """A repository on which we work for minutes: many files that are slow to parse."""
    root = folder / "endless"
    root.mkdir()
    (root / "alpha.py").write_text(GOOD)
    for number in range(400):
        (root / f"slow{number}.py").write_text("def f():\n    return " + "g(1)(2) + " * 90_000 + "1\n")
    return root


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
async def test_a_hostile_folder_is_indexed_in_time(
    shared_service: IndexService, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    root = made(make, tmp_path)
    try:
        refreshed = await shared_service.refresh(str(root))
        codebase = Codebase.open(root, Path(refreshed["index_path"]))
        try:
            assert [symbol.file for symbol in codebase.symbols_named("alpha_thing")] == ["alpha.py"]
            assert codebase.search_text("alpha thing").hits[0].file == "alpha.py"
        finally:
            codebase.close()
    finally:
        removed_by_program(root)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("device_as_ignore_file", "no regular file"),
        ("pipe_as_ignore_file", "no regular file"),
        ("link_out_as_ignore_file", "no regular file"),
        ("sparse_ignore_file", "it has 6442450944 bytes, at most 1000000 are read"),
        ("many_patterns", "patterns, at most 10000 are read"),
    ],
)
async def test_an_ignore_file_that_is_not_used_is_told(
    shared_service: IndexService, tmp_path: Path, name: str, told: str
) -> None:
    root = made(next(make for make in HOSTILE if make.__name__ == name), tmp_path)
    notes = (await shared_service.refresh(str(root)))["stats"]["notes"]
    assert len(notes) == 1 and notes[0].startswith(".gitignore is not used: ") and told in notes[0]


async def test_a_refresh_ends_at_its_deadline_and_its_process_is_gone(service: IndexService, tmp_path: Path) -> None:
    root, others = endless(tmp_path), children()
    began_s = time.monotonic()
    with pytest.raises(RepositoryError, match=r"could not be indexed within 0\.7 s") as caught:
        await service.refresh(str(root), 0.7)
    assert time.monotonic() - began_s < 10
    assert caught.value.values["timed_out"] is True
    assert children("RD") <= others


async def test_a_refresh_that_waits_for_another_one_ends_at_its_deadline(service: IndexService, tmp_path: Path) -> None:
    root = endless(tmp_path)
    first = asyncio.ensure_future(service.refresh(str(root)))
    await asyncio.sleep(0)
    with pytest.raises(RepositoryError, match=r"within 0\.5 s"):
        await service.refresh(str(root), 0.5)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_cancelled_refresh_is_killed(service: IndexService, tmp_path: Path) -> None:
    root, others = endless(tmp_path), children()
    refreshing = asyncio.ensure_future(service.refresh(str(root)))
    await until_working(service, root)
    refreshing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await refreshing
    assert children("RD") <= others


async def test_another_repository_is_answered_while_one_never_ends(service: IndexService, tmp_path: Path) -> None:
    hostile, good = endless(tmp_path), made(lambda _: None, tmp_path)
    await service.refresh(str(good))
    alone_s = await seconds_of(service, good)
    refreshing = asyncio.ensure_future(service.refresh(str(hostile)))
    await until_working(service, hostile)
    beside_s = await seconds_of(service, good)
    refreshing.cancel()
    await asyncio.wait({refreshing})
    assert beside_s < 10 * alone_s + 1.0


async def until_working(service: IndexService, root: Path) -> None:
    while not service.progress(str(root)).total:
        await asyncio.to_thread(os.sched_yield)


async def seconds_of(service: IndexService, root: Path) -> float:
    began_s = time.monotonic()
    for _ in range(5):
        await service.refresh(str(root))
    return (time.monotonic() - began_s) / 5


async def test_a_killed_refresh_leaves_the_index_as_it_was(service: IndexService, tmp_path: Path) -> None:
    root = made(lambda _: None, tmp_path)
    before = await service.refresh(str(root))
    for source in endless(tmp_path).glob("slow*.py"):
        shutil.copy(source, root / source.name)
    with pytest.raises(RepositoryError, match="could not be indexed within"):
        await service.refresh(str(root), 0.4)
    with sqlite3.connect(before["index_path"]) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT path FROM files").fetchall() == [("alpha.py",)]
    connection.close()
    for source in root.glob("slow*.py"):
        source.unlink()
    assert (await service.refresh(str(root)))["stats"]["files"] == 1


async def test_a_first_refresh_that_was_killed_is_made_anew(service: IndexService, tmp_path: Path) -> None:
    root = endless(tmp_path)
    with pytest.raises(RepositoryError, match="could not be indexed within"):
        await service.refresh(str(root), 0.4)
    for source in root.glob("slow*.py"):
        source.unlink()
    assert (await service.refresh(str(root)))["stats"]["files"] == 1


async def test_a_refresh_that_needs_too_much_memory_is_refused_by_name(tmp_path: Path) -> None:
    root = made(lambda _: None, tmp_path)
    (root / "large.py").write_text("def f():\n    return 1\n" * 1_000_000)
    options = IndexOptions(WalkOptions(max_file_bytes=100_000_000), memory_bytes=256_000_000)
    service = IndexService(tmp_path / "state", options)
    try:
        with pytest.raises(RepositoryError, match=r"could not be indexed: .*256000000 bytes"):
            await service.refresh(str(root))
        (root / "large.py").unlink()
        assert (await service.refresh(str(root)))["stats"]["files"] == 1
    finally:
        service.close()


async def test_a_bug_in_the_process_is_no_fault_of_the_repository(tmp_path: Path) -> None:
    options: Any = IndexOptions(walk=None)  # type: ignore[arg-type]
    service = IndexService(tmp_path / "state", options)
    try:
        with pytest.raises(ProcessError, match="AttributeError"):
            await service.refresh(str(made(lambda _: None, tmp_path)))
    finally:
        service.close()


def removed_by_program(root: Path) -> None:
    """Remove a folder that may be deeper than Python can."""
    subprocess.run(["rm", "-rf", str(root)], check=False)


def children(states: str = "") -> set[int]:
    """The processes that this one has started and that are in one of some states; without any named, all of them."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
        if int(fields[1]) == os.getpid() and (not states or fields[0] in states):
            found.add(int(status.parent.name))
    return found
