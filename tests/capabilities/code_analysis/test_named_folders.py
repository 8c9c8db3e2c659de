"""A question about a folder as a whole is one only where there is such a folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.question.named_folders import names_known_folder
from actors.capabilities.code_analysis.question.overview_wording import folders_named
from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.kinds.asking import told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, codebase_of, indexed

FILES = {
    "README.md": "# Depot\n\nParks vans.\n",
    "src/depot/yard/gate.py": (
        '"""Gates of the yard."""\n\n\ndef open_gate():\n    """Open a gate."""\n    return True\n'
    ),
    "src/depot/trash.py": (
        '"""Trash."""\n\nTRASH_DIRECTORY = "/tmp/trash"\n\n\n'
        'def to_trash(path):\n    """Move a path into the trash directory, from where it is restored."""\n'
        "    return TRASH_DIRECTORY + path\n"
    ),
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    return indexed(tmp_path_factory.mktemp("folders"), FILES)


@pytest.fixture(scope="module")
def depot(harness: AnalysisHarness) -> Iterator[Codebase]:
    with codebase_of(harness) as codebase:
        yield codebase


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("What is in the yard folder?", True),
        ("What is in src/depot/yard/?", True),
        ("What is in depot/yard?", True),
        ("How is the `depot.yard` package structured?", True),
        ("What's the Yard directory for?", True),
        ("What's the trash directory for?", False),
        # That there is no such path is told as that.
        ("What is in src/yard/?", True),
        # A file is no folder.
        ("What is in the gate.py folder?", False),
        ("What does this project do?", True),
        ("", True),
    ],
)
def test_a_folder_is_known_whole_or_by_some_of_its_parts(depot: Codebase, text: str, is_known: bool) -> None:
    assert names_known_folder(depot, text) is is_known


@given(text=st.text(max_size=100))
def test_only_of_what_names_a_folder_it_is_not_known(depot: Codebase, text: str) -> None:
    assert names_known_folder(depot, text) or folders_named(text)


def test_of_no_folder_that_there_is_nothing_is_asked_as_a_whole() -> None:
    text = "What's the trash directory for?"
    assert kind_of(analyse(text)).needs_no_subject
    asked = analyse(text, names_folder=False)
    assert not kind_of(asked).needs_no_subject
    assert "trash" in asked.terms


async def test_a_directory_that_only_the_code_speaks_of_is_answered_from_the_code(harness: AnalysisHarness) -> None:
    told = await told_of(harness, "What's the trash directory for?")
    assert "src/depot/trash.py" in told.partition("\n\n")[0]
    assert "Gates of the yard" not in told
