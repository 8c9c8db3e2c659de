"""docs/guides/batch.md: each command does what the page says, with the files that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.doors.page_shell import commands_of, differences
from tests.doors.program import WITHOUT_VECTORS
from tests.doors.sample_repo import FILES, write_files

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "batch.md"
COMMANDS = 11


@pytest.mark.long
def test_each_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    commands = commands_of(PAGE)
    assert len(commands) == COMMANDS
    write_files(tmp_path / "repositories" / "post_office", FILES)
    (questions,) = re.findall(r"^```json questions\.jsonl\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "questions.jsonl").write_text(questions, encoding="utf-8")
    env = {"JEEVES_STATE_DIR": str(tmp_path / "state"), "JEEVES_RAY__MODE": "in_process", **WITHOUT_VECTORS}
    assert differences(commands, tmp_path, env) == []
    assert not (tmp_path / "nothing.jsonl").exists()
