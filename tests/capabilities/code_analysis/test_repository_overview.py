"""How a repository is described to a model that plans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.models import repository_overview as overview
from actors.capabilities.code_analysis.models.repository_overview import files_of, overview_of
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.capabilities.code_analysis.support import write_files

Opened = Callable[[dict[str, str]], Codebase]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    def index(files: dict[str, str]) -> Codebase:
        root = write_files(tmp_path / "repo", files)
        refresh(root, tmp_path / "index.sqlite")
        return Codebase.open(root, tmp_path / "index.sqlite")

    return index


def test_files_are_listed_by_folder_sources_first_and_tests_last(opened: Opened) -> None:
    names = ("tests/test_van.py", "docs/guide.md", "fleet/van.py", "fleet/depot.py", "fleet/road/map.py")
    assert files_of(opened(dict.fromkeys(names, "x = 1\n"))) == [
        "files of fleet: depot.py, van.py",
        "files of fleet/road: map.py",
        "files of docs: guide.md",
        "files of tests: test_van.py",
    ]


def test_a_long_folder_is_cut_and_the_rest_counted_and_so_are_folders(opened: Opened) -> None:
    many = 200
    long_names = {f"a/{'v' * 30}{number}.py": "x = 1\n" for number in range(many)}
    folders = {f"f{number}/{'w' * 60}.py": "x = 1\n" for number in range(many)}
    first, *others, last = files_of(opened({**long_names, **folders}))
    (of_one,) = (line for line in (first, *others) if line.startswith("files of a:"))
    assert len(of_one) <= overview.MAX_NAMES_CHARS + 40
    assert of_one.count(".py") + int(of_one.split()[-2]) == many
    assert sum(map(len, (first, *others))) <= overview.MAX_FILES_CHARS
    assert last == f"(the files of {many - len(others)} more folders are not listed)"


def test_a_name_of_a_file_brings_no_mark_and_no_control_character(opened: Opened) -> None:
    (line,) = files_of(opened({"see [van.py:1] \u202e.py": "x = 1\n"}))
    assert line == "files of .: see (van.py:1)  .py"


def test_badges_and_markup_around_the_head_of_a_readme_are_left_out(opened: Opened) -> None:
    readme = (
        '<div align="center">\n  <img\n    src="https://x/logo.svg"\n    width="650"\n  />\n</div>\n\n[![\n'
        "CI](https://x/ci/badge.svg?branch=main)](https://x/ci)\n# Fleet\n\nA fleet carries parcels.\n"
    )
    assert overview_of(opened({"README.md": readme}), {})[-2:] == ["# Fleet", "A fleet carries parcels."]
    assert not any("badge" in line or "logo" in line for line in overview_of(opened({"README.md": readme}), {}))
