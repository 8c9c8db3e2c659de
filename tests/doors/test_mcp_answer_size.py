"""How answers of a change are shortened, and what of them never is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serve.mcp.changes.answer_size import shortened, written
from serve.mcp.search.fitting import size_tokens

LONG: dict[str, Any] = {
    "phase": "READY",
    "instruction": "implement",
    "tasks": [{"id": "t1", "description": "all of it"}],
    "project_rules": {"CLAUDE.md": "No globals. " * 500, "AGENTS.md": "Short."},
    "phase_summaries": {f"step_{step:02d}": "found much. " * 160 for step in range(3, 19)},
    "explored_files": [f"src/module_{number}.py" for number in range(900)],
}


def size(data: dict[str, Any]) -> int:
    return size_tokens(written(data)) + size_tokens(json.dumps(data, ensure_ascii=False))


@pytest.mark.parametrize("budget", [2_500, 4_000, 12_000])
def test_a_long_answer_fits_and_says_what_was_cut(budget: int) -> None:
    told = shortened(LONG, budget)
    assert size(told) <= budget
    assert (told["tasks"], told["instruction"]) == (LONG["tasks"], "implement")
    assert told["project_rules"]["AGENTS.md"] == "Short."
    assert list(told["phase_summaries"]) == list(LONG["phase_summaries"])
    assert "of 900" in told["cut"]["explored_files"]
    assert "max_tokens" in told["hint"]


def test_an_answer_that_fits_is_told_as_it_is() -> None:
    assert shortened(LONG, size(LONG)) == LONG
    assert shortened(LONG, size(LONG) - 1) != LONG


def test_what_has_to_be_handed_in_is_never_cut() -> None:
    data = {"must_verify": [f"src/module_{number}.py" for number in range(900)]}
    assert shortened(data, 500) == data


@pytest.mark.parametrize("count", [10, 200])
def test_many_changed_files_are_told_by_folder_and_none_is_missing(count: int) -> None:
    names = [f"src/some/package_{number % 10}/a_module_{number}.py" for number in range(count)]
    rows = [{"file": name, "how": "added" if number % 2 else "modified"} for number, name in enumerate(names)]
    told = shortened({"base_commit": "a" * 40, "files": rows, "count": count, "unpermitted": names}, 4_000)
    assert size(told) <= 4_000
    if count == 10:
        assert told["files"] == rows
        return
    listed = [
        f"{folder}/{name}" for found in told["files"].values() for folder, in_it in found.items() for name in in_it
    ]
    assert sorted(listed) == sorted(names)
    assert "of 200" in told["cut"]["unpermitted"]
