from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files

DEPOT = {
    "README.md": "# Depot\n\n[![build](x.svg)](x)\n\nDepot is a store for boxes [README.md:1].\n",
    "pyproject.toml": '[project]\nname="depot"\ndependencies = ["boxes>2"]\n[project.scripts]\ndp = "depot.cli:main"\n',
    "depot/__init__.py": "from depot.store.shelf import Shelf\n\n__all__ = ['Shelf']\n",
    "depot/cli.py": '"""Parses commands."""\n\nfrom depot.store.shelf import Shelf\n\n\ndef main():\n    Shelf()\n',
    "depot/store/__init__.py": '"""Keeps boxes on shelves."""\n',
    "depot/store/shelf.py": "class Shelf:\n    def put(self, box):\n        return box\n",
    "depot/net/__init__.py": "",
    "depot/net/wire.py": "from depot.store.shelf import Shelf\n\n\nclass Wire:\n    shelf = Shelf()\n",
    **{f"depot/part{number}/a.py": f'"""Does thing {number} to boxes."""\n' for number in range(9)},
    "tests/test_shelf.py": "from depot.store.shelf import Shelf\n",
}


@pytest.fixture
async def depot(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "depot", DEPOT)
    return await AnalysisHarness.open(tmp_path / "depot", tmp_path / "state")


async def told(depot: AnalysisHarness, question: str) -> str:
    document = await depot.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    return str(document["answer"])


async def test_the_whole_is_told_by_its_own_words_parts_imports_and_entries(depot: AnalysisHarness) -> None:
    answer = await told(depot, "What does this package do, and what are its main parts?")
    assert answer.startswith("`README.md` says: «Depot is a store for boxes (README.md:1).» [README.md:5]")
    assert "**Main parts** (10 of 12)" in answer
    assert "Further parts: " in answer
    assert "- `depot/store` (2 files): «Keeps boxes on shelves.» [depot/store/__init__.py:1]" in answer
    assert "- `depot/net` imports `depot/store` in at least one file [depot/net/wire.py:1]" in answer
    assert "Not parts of it: tests in `tests` (1 file) [tests/test_shelf.py:1]" in answer
    assert "- `pyproject.toml` declares the command `dp`, which runs `depot.cli:main` [pyproject.toml:5]" in answer
    assert "**Where to start reading**" in answer
    assert "mermaid" not in answer


async def test_a_picture_is_drawn_where_it_is_asked_for(depot: AnalysisHarness) -> None:
    answer = await told(depot, "How is this project built? Draw a diagram.")
    assert '["depot/store"]' in answer.partition("```mermaid")[2]


async def test_a_folder_that_is_named_is_described_alone(depot: AnalysisHarness) -> None:
    answer = await told(depot, "What is in depot/store, and how is it built?")
    assert answer.startswith("`depot/store/__init__.py` says: «Keeps boxes on shelves.»")
    assert "depot/net" not in answer


async def test_a_folder_that_is_not_there_is_said_to_be_missing(depot: AnalysisHarness) -> None:
    answer = await told(depot, "What is in depot/nowhere?")
    assert "Depot is a store" not in answer
    assert "depot/nowhere" in answer


async def test_only_what_is_asked_for_is_told(depot: AnalysisHarness) -> None:
    entries = await told(depot, "What are the entry points of this package?")
    assert "`dp`" in entries
    assert "Main parts" not in entries
    language = await told(depot, "What language is this project written in?")
    assert language.startswith("Its source is Python")
    assert "`pyproject.toml` declares as dependencies `boxes` [pyproject.toml:3]" in language


async def test_one_module_is_not_taken_for_the_whole(depot: AnalysisHarness) -> None:
    assert "Main parts" not in await told(depot, "What does the shelf module do?")


async def test_the_project_by_its_name_is_the_whole(depot: AnalysisHarness) -> None:
    assert "**Main parts**" in await told(depot, "What is depot and how is it organised?")
