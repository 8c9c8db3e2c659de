"""The small repository, written and indexed once for all tests of the capability."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, write_files


@pytest.fixture(scope="session")
def relay_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test may change; write one of your own for that."""
    root = tmp_path_factory.mktemp("relay") / "repo"
    write_files(root, FILES)
    return root


@pytest.fixture(scope="session")
def relay(relay_root: Path, tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    return asyncio.run(AnalysisHarness.open(relay_root, tmp_path_factory.mktemp("relay-state")))


@pytest.fixture(scope="session")
def codebase(relay: AnalysisHarness) -> Iterator[Codebase]:
    opened = Codebase.open(Path(relay.repository["root"]), Path(relay.repository["index_path"]))
    yield opened
    opened.close()


@pytest.fixture
def own_root(tmp_path: Path) -> Path:
    """The same repository for one test, which may do with it what it likes."""
    root = tmp_path / "repo"
    write_files(root, FILES)
    return root
