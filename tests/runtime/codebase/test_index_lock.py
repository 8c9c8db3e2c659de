"""Locks of an index: what lies in the place of one neither blocks nor stops a refresh, and long waits are told."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runtime.codebase.index import seal
from runtime.codebase.index.lock import await_other_programs, writer_lock
from runtime.errors import StateStorageError


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_in_place_of_the_lock_is_put_aside(tmp_path: Path, make: Callable[[Path], None]) -> None:
    index_path = tmp_path / "index.sqlite"
    lock_path = tmp_path / "index.sqlite.lock"
    make(lock_path)
    with writer_lock(index_path, 1):
        assert lock_path.is_file()


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_the_seal_is_put_aside(tmp_path: Path) -> None:
    index_path = tmp_path / "index.sqlite"
    index_path.write_bytes(b"")
    os.mkfifo(tmp_path / "index.sqlite.seal")
    seal.seal(index_path)
    assert (tmp_path / "index.sqlite.seal").is_file()


def test_a_lock_that_stays_taken_is_named(tmp_path: Path) -> None:
    index_path = tmp_path / "index.sqlite"
    with (
        writer_lock(index_path),
        pytest.raises(StateStorageError, match=r"holds the lock .*index\.sqlite\.lock"),
        writer_lock(index_path, 0.0),
    ):
        pass


def test_a_lock_of_ours_is_told_of_once_while_it_is_waited_for(tmp_path: Path) -> None:
    index_path, told = tmp_path / "index.sqlite", list[str]()
    with (
        writer_lock(index_path),
        pytest.raises(StateStorageError),
        writer_lock(index_path, 0.2, told.append, told_after_s=0.0),
    ):
        pass
    (sentence,) = told
    assert f"the index {index_path}: another jeeves process is writing it" in sentence


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """An index that another connection has locked for writing."""
    path = tmp_path / "index.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN IMMEDIATE")
        yield path, other


def test_another_programs_lock_is_told_of_and_waited_for(locked: tuple[Path, sqlite3.Connection]) -> None:
    path, other = locked
    told: list[str] = []

    def release(sentence: str) -> None:
        told.append(sentence)
        other.execute("ROLLBACK")

    await_other_programs(path, release, 30, told_after_s=0.05)
    (sentence,) = told
    assert sentence.startswith(f"waiting up to 30 s for the index {path}: another program has locked")
    assert "end that program" in sentence


def test_another_programs_lock_that_stays_is_an_error_with_what_to_do(locked: tuple[Path, sqlite3.Connection]) -> None:
    told: list[str] = []
    with pytest.raises(StateStorageError, match="locked for 1 s; end that program, or its transaction"):
        await_other_programs(locked[0], told.append, 0.6, told_after_s=0.05)
    assert len(told) == 1


@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 100])
def test_a_file_that_nobody_has_locked_is_not_waited_for_whatever_is_in_it(
    tmp_path: Path, content: bytes | None
) -> None:
    path, told = tmp_path / "index.sqlite", list[str]()
    if content is not None:
        path.write_bytes(content)
    await_other_programs(path, told.append, 30)
    assert (told, path.read_bytes() if path.exists() else None) == ([], content)
