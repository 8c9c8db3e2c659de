"""A small repository in several languages, and its index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.vector_cache import VectorCache
from tests.runtime.codebase.sample_repository import FILES, write_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index.sqlite"


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.sqlite")


@pytest.fixture
def shop(root: Path) -> Path:
    write_files(root, FILES)
    return root


@pytest.fixture
def opened(index_path: Path) -> Iterator[Callable[[Path], Codebase]]:
    """Index a folder and open it; closed at the end of the test."""
    open_ones: list[Codebase] = []

    def open_root(root: Path) -> Codebase:
        refresh(root, index_path)
        codebase = Codebase.open(root, index_path)
        open_ones.append(codebase)
        return codebase

    yield open_root
    for codebase in open_ones:
        codebase.close()


@pytest.fixture
def codebase(shop: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    return opened(shop)
