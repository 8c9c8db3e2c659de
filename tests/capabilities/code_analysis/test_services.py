"""Codebases that the agents of one process share: how many are kept open, and what becomes of the others."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.tools.services import Services
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from tests.capabilities.code_analysis.support import write_files


@pytest.fixture
async def repositories(tmp_path: Path) -> list[dict[str, Any]]:
    """Three indexed repositories."""
    index = IndexService(tmp_path / "state", IndexOptions())
    try:
        roots = [write_files(tmp_path / name, {"a.py": f"{name.upper()} = 1\n"}) for name in ("one", "two", "three")]
        return [await index.refresh(str(root)) for root in roots]
    finally:
        index.close()


def opened(repository: dict[str, Any]) -> int:
    """The number of files of an index that this process has open."""
    folder, files = Path(repository["index_path"]).parent, Path("/proc/self/fd")
    return sum(os.path.realpath(file).startswith(f"{folder}{os.sep}") for file in files.iterdir())


async def test_a_codebase_that_others_push_out_can_be_read_on_by_who_holds_it(repositories: Any) -> None:
    services = Services(open_repositories=1)
    first = services.codebase(repositories[0])
    assert [file.path for file in first.files()] == ["a.py"]
    services.codebase(repositories[1])
    services.codebase(repositories[2])
    assert first.index.defined_names(["ONE"]) == {"ONE"}


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
async def test_a_codebase_that_was_pushed_out_is_closed_when_nobody_holds_it_any_longer(repositories: Any) -> None:
    services = Services(open_repositories=1)
    first = services.codebase(repositories[0])
    services.codebase(repositories[1])
    assert opened(repositories[0])
    del first
    gc.collect()
    assert opened(repositories[0]) == 0
    assert opened(repositories[1])
