"""The lock beside an index: whatever lies in its place neither blocks nor stops a refresh."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.index import seal
from runtime.codebase.index.lock import writer_lock
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
