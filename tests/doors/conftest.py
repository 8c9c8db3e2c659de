"""The program, and a small repository to ask about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import FILES, write_files


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository."""
    return write_files(tmp_path / "repo", FILES)


@pytest.fixture
def jeeves(tmp_path: Path) -> Program:
    """The program without Ray, with a state folder of its own."""
    return Program(tmp_path / "state", JEEVES_RAY__MODE="in_process")


@pytest.fixture
def ray_jeeves(tmp_path: Path) -> Program:
    """The program as it is by default, on a cluster of its own."""
    return Program(tmp_path / "state")
