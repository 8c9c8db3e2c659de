from __future__ import annotations

import dataclasses
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index import seal
from runtime.codebase.index.refresh_memory import RefreshMemory
from runtime.codebase.index.writer import IndexOptions, refresh


def age(root: Path) -> None:
    """Give each file a time long past, as those of a repository have."""
    for path in root.rglob("*"):
        os.utime(path, ns=(time.time_ns(), time.time_ns() - 10**12))


def written(index_path: Path) -> int:
    """When the index was written last."""
    with closing(sqlite3.connect(index_path)) as connection:
        return int(connection.execute("SELECT value FROM meta WHERE key = 'refreshed_ns'").fetchone()[0])


def contents(index_path: Path) -> list[tuple[str, str]]:
    """The files of an index with the digests of what they hold."""
    with closing(sqlite3.connect(index_path)) as connection:
        return connection.execute("SELECT path, sha256 FROM files ORDER BY path").fetchall()


@pytest.fixture
def memory(shop: Path, index_path: Path) -> RefreshMemory:
    """A memory of a repository that was refreshed once."""
    age(shop)
    memory = RefreshMemory()
    refresh(shop, index_path, memory=memory)
    return memory


def test_a_refresh_without_changes_writes_nothing_and_tells_the_same(
    shop: Path, index_path: Path, memory: RefreshMemory
) -> None:
    before = written(index_path)
    told = refresh(shop, index_path, memory=memory)
    assert written(index_path) == before
    expected = refresh(shop, index_path)
    assert written(index_path) > before
    assert dataclasses.replace(told, duration_ms=0) == dataclasses.replace(expected, duration_ms=0)


@pytest.mark.parametrize(
    "changed",
    [
        lambda root, index: (root / "src/shop/orders.py").write_text("def anew(): ...\n"),
        lambda root, index: (root / "src/shop/new.py").write_text("def anew(): ...\n"),
        lambda root, index: (root / "src/shop/orders.py").unlink(),
        lambda root, index: (root / ".gitignore").write_text("orders.py\n"),
        lambda root, index: index.unlink(),
        lambda root, index: seal.break_seal(index),
        lambda root, index: index.write_bytes(index.read_bytes()[:4096]),
        lambda root, index: refresh(root, index, IndexOptions(walk=WalkOptions(excludes=("orders.py",)))),
    ],
)
def test_each_change_of_the_files_or_of_the_index_is_followed_by_a_whole_refresh(
    shop: Path, index_path: Path, memory: RefreshMemory, changed: Callable[[Path, Path], object]
) -> None:
    changed(shop, index_path)
    told = refresh(shop, index_path, memory=memory)
    anew = refresh(shop, index_path.with_name("other.sqlite"))
    assert (told.files, told.symbols, told.lines) == (anew.files, anew.symbols, anew.lines)
    assert contents(index_path) == contents(index_path.with_name("other.sqlite"))


@pytest.mark.parametrize("sync", ["now", "anew"])
def test_a_synchronisation_compares_all_files(shop: Path, index_path: Path, memory: RefreshMemory, sync: str) -> None:
    before = written(index_path)
    refresh(shop, index_path, memory=memory, sync=sync)  # type: ignore[arg-type]
    assert written(index_path) > before


def test_a_file_that_was_changed_a_moment_ago_is_compared_again(shop: Path, index_path: Path) -> None:
    memory = RefreshMemory()
    age(shop)
    os.utime(shop / "src/shop/orders.py", ns=(0, time.time_ns() + 10**12))
    refresh(shop, index_path, memory=memory)
    before = written(index_path)
    refresh(shop, index_path, memory=memory)
    assert written(index_path) > before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_could_not_be_read_is_tried_again(shop: Path, index_path: Path) -> None:
    memory = RefreshMemory()
    age(shop)
    (shop / "src/shop/orders.py").chmod(0)
    unread = refresh(shop, index_path, memory=memory)
    (shop / "src/shop/orders.py").chmod(0o600)
    assert refresh(shop, index_path, memory=memory).files == unread.files + 1


@pytest.mark.parametrize(("others", "is_kept"), [(2, True), (3, False)])
def test_as_many_repositories_are_remembered_as_there_is_room_for(others: int, is_kept: bool) -> None:
    memory = RefreshMemory(size=3)
    first = memory.of("first")
    for number in range(others):
        memory.of(number)
    assert (memory.of("first") is first) == is_kept
