"""Questions are checked before anything starts: what no store can hold is refused with what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.errors import InputError, QuestionError
from runtime.settings import load_settings
from serve.cli.commands.batch import read_lines
from serve.cli.inputs import checked_question
from tests.doors.program import Program


def test_a_question_with_the_character_zero_is_refused(tmp_path: Path) -> None:
    settings = load_settings(None, {"JEEVES_STATE_DIR": str(tmp_path)})
    with pytest.raises(QuestionError, match=r"U\+0000"):
        checked_question("Where is\0 it?", settings)


def test_ids_of_a_batch_with_the_character_zero_are_refused_all_at_once(tmp_path: Path) -> None:
    lines = [{"id": each, "question": "Where?", "repo": "."} for each in ("a\0", "b", "\0c")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError) as caught:
        read_lines(tmp_path / "in.jsonl")
    assert [fault.partition(":")[0] for fault in caught.value.values["faults"]] == ["line 1", "line 3"]
    assert r"'a\x00' holds the character U+0000" in caught.value.message


def test_a_variable_that_is_no_setting_is_told_beside_the_answer(jeeves: Program) -> None:
    outcome = jeeves.run("validate", "code_analysis", env={"JEEVES_NOSUCH": "1"})
    assert outcome.status == 0
    assert outcome.err.startswith("jeeves: JEEVES_NOSUCH is no setting and has no effect; the nearest is JEEVES_")
    assert outcome.err.count("\n") == 1
    assert jeeves.run("validate", "code_analysis").err == ""
