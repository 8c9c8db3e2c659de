"""A repository with classes to compare and to extend, indexed for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, write_files
from tests.repositories import repository_files


@pytest.fixture
async def vehicles(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", {**FILES, **repository_files("vehicles")})
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
