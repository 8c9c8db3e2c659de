"""Who asks for the uses of a name that nothing bears is told those of no other thing, and how sure that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.agents.answer_trust import SUBJECT_NOT_KNOWN
from actors.capabilities.code_analysis.evidence.facts import facts_of
from runtime.codebase.citation import ToolResult
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, step_of, write_files

FILES = {
    "loom/paths.py": "def setting_path(of):\n    return of.folder\n\n\ndef create(of):\n    return setting_path(of)\n",
    "loom/watch.py": 'def watch(folders, setting=()):\n    """Watches folders, and those of the setting."""\n'
    "    for folder in (*folders, *setting):\n        look(folder)\n\n\ndef look(folder):\n    return folder\n",
}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    return await AnalysisHarness.open(write_files(tmp_path / "repo", FILES), tmp_path / "state")


async def test_what_is_described_is_no_name_of_which_uses_are_listed(desk: AnalysisHarness) -> None:
    answer = (await desk.ask("Who uses the setting for folders to watch?"))["answer"]
    assert answer.startswith("`watch` in `loom/watch.py`")
    assert "**Used by**" not in answer


@pytest.mark.parametrize(("name", "is_known"), [("setting_path", True), ("setting_pa", False)])
async def test_an_answer_about_another_name_than_the_one_asked_for_is_less_sure(
    desk: AnalysisHarness, name: str, is_known: bool
) -> None:
    document = await desk.ask(f"Who calls `{name}`?")
    assert (document["confidence"] > SUBJECT_NOT_KNOWN) is is_known


@pytest.mark.parametrize(
    ("found", "about"),
    [
        ("paths.setting_path", "paths.setting_path"),
        ("Loom.setting", "setting"),
        ("Setting", "setting"),
        (None, "setting"),
    ],
)
def test_uses_are_about_what_was_explored(found: str | None, about: str) -> None:
    rows = [] if found is None else [{"symbol": found, "citation": 0, "kind": "function"}]
    data = {"symbol": "setting", "definitions": rows, "callers": [{"enclosing": "create", "citation": 1}]}
    result: ToolResult = ToolResult("ok", data, (cited("a.py", 1, 2), cited("b.py", 3, 3)))
    facts = facts_of(step_of("explore_symbol_usage"), result)
    assert [fact.about for fact in facts if fact.kind == "caller"] == [about]
