"""Edits of a violation's file: confined to it, made once, and never one that leaves it unparsable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.violation_fix.actions.edit_tools import (
    EditFile,
    FixWorkspace,
    ReplaceLines,
    WriteFile,
    edit_file_tool,
    replace_lines_tool,
    was_edited,
    write_file_tool,
)
from actors.capabilities.violation_fix.actions.read_tools import (
    LoadContext,
    ReadFile,
    load_context_tool,
    read_file_tool,
)

SOURCE = "import os\n\n\ndef walk(top):\n    return os.listdir(top)\n\n\nclass Walker:\n    def walk(self): ...\n"


@pytest.fixture
def place(tmp_path: Path) -> FixWorkspace:
    (tmp_path / "tree/pkg").mkdir(parents=True)
    (tmp_path / "tree/pkg/a.py").write_text(SOURCE)
    (tmp_path / "tree/pkg/b.py").write_text("def walk(x):\n    pass\n")
    return FixWorkspace(str(tmp_path / "tree"), "pkg/a.py", str(tmp_path / "edits"))


def text(place: FixWorkspace) -> str:
    return (Path(place.root) / place.file).read_text()


def test_an_edit_is_made_told_and_recorded(place: FixWorkspace) -> None:
    result = replace_lines_tool(place, ReplaceLines("1", 5, 5, "    return sorted(os.listdir(top))"))
    assert result.status == "ok" and "modified pkg/a.py" in result.data["output"]
    assert "sorted" in text(place)
    assert [write.file for write in place.journal.writes()] == ["pkg/a.py"]


def test_an_interrupted_edit_is_found_done_and_not_made_twice(place: FixWorkspace) -> None:
    asked = EditFile("1", old="os.listdir(top)", new="[*os.listdir(top), 'os.listdir(top)']")
    assert was_edited(place, asked) is None
    edit_file_tool(place, asked)
    once = text(place)
    done = was_edited(place, asked)
    assert done is not None and done.status == "ok"
    assert edit_file_tool(place, asked).status == "ok"
    assert text(place) == once


@pytest.mark.parametrize(
    ("asked", "tool", "category"),
    [
        (ReplaceLines("1", 5, 5, "    return ("), replace_lines_tool, "syntax_error"),
        (ReplaceLines("1", 50, 51, "x = 1"), replace_lines_tool, "not_found"),
        (ReplaceLines("1", 5, 5, "    return os.listdir(top)\n"), replace_lines_tool, "other"),
        (EditFile("1", old="no such text", new=""), edit_file_tool, "not_found"),
        (EditFile("1", old="os", new="sys"), edit_file_tool, "not_found"),
        (EditFile("1", old="top)", new="top))"), edit_file_tool, "not_found"),
        (WriteFile("1", text="def ("), write_file_tool, "syntax_error"),
        (WriteFile("1", text="x = '\ud800'"), write_file_tool, "syntax_error"),
        (WriteFile("1", text="x = 1\n", path="pkg/b.py"), write_file_tool, "other"),
        (WriteFile("1", text="x = 1\n", path="../../etc/passwd"), write_file_tool, "other"),
    ],
)
def test_an_edit_that_cannot_be_made_changes_nothing_and_says_why(
    place: FixWorkspace, asked: Any, tool: Any, category: str
) -> None:
    result = tool(place, asked)
    assert (result.status, result.at_fault, result.data["category"]) == ("error", "request", category)
    assert result.error
    assert text(place) == SOURCE
    assert not place.journal.writes()


def test_a_missing_file_is_told_as_not_found(place: FixWorkspace) -> None:
    (Path(place.root) / place.file).unlink()
    assert replace_lines_tool(place, ReplaceLines("1", 1, 1, "")).data["category"] == "not_found"


def test_lines_are_read_with_numbers_and_what_was_cut_is_marked(place: FixWorkspace) -> None:
    result = read_file_tool(place, ReadFile("pkg/a.py", 4, 5))
    assert result.data["output"].splitlines()[1:] == ["    4  def walk(top):", "    5      return os.listdir(top)"]
    assert result.truncated
    assert not read_file_tool(place, ReadFile("pkg/a.py")).truncated
    (Path(place.root) / "long.py").write_text("x\n" * 201)
    assert read_file_tool(place, ReadFile("long.py")).data["read"] == "long.py:1-200"


@pytest.mark.parametrize("path", ["missing.py", "../outside", "/etc/passwd", ".git/config", "pkg", ".env"])
def test_what_is_not_there_or_not_for_reading_is_told(place: FixWorkspace, path: str) -> None:
    result = read_file_tool(place, ReadFile(path))
    assert (result.status, result.at_fault) == ("not_found", "request")


def test_a_definition_is_looked_for_in_the_violations_file_first(place: FixWorkspace) -> None:
    found = load_context_tool(place, LoadContext("Walker.walk")).data["output"].splitlines()
    assert [line.split(": ", 1)[1] for line in found] == [
        "pkg/a.py:4-5 def walk(top):",
        "pkg/a.py:9-9 def walk(self): ...",
        "pkg/b.py:1-2 def walk(x):",
    ]
    assert load_context_tool(place, LoadContext("nothing")).status == "not_found"
