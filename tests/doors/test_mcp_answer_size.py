"""How answers of a change are shortened, and what of them never is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serve.mcp.changes.answer_size import MAX_TOKENS, shortened, written
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


@pytest.mark.parametrize(
    "data",
    [
        {"query": "x" * 20_000},
        {"error": {"code": "payload_mismatch", "problems": ["y" * 800] * 31}},
        {"notes": [f"dropped from the frame: {'z' * 3_000}"] * 5},
        {"mandatory_rules": [{"rule": "r" * 2_000, "source": "docs/rules.md"}] * 300},
    ],
    ids=["query", "problems", "notes", "rules"],
)
def test_texts_that_an_agent_made_long_do_not_make_answers_long(data: dict[str, Any]) -> None:
    standing = {"phase": "READY", "instruction": "Do it.", "expected_payload": {"summary": "text"}}
    told = shortened({**standing, **data}, 4_000)
    assert size(told) <= 4_000
    assert {name: told[name] for name in standing} == standing
    assert told["cut"]


def test_a_list_of_many_tasks_is_told_within_the_tokens() -> None:
    items = [{"item": f"item {number} of a task, in some words", "status": "pending"} for number in range(20)]
    tasks = [
        {"id": f"task-{number}", "description": "d" * 200, "status": "pending", "checklist": items}
        for number in range(100)
    ]
    shown = shortened({"phase": "READY", "instruction": "i" * 600, "tasks": tasks})
    assert size(shown) <= MAX_TOKENS
    ids = shown["tasks"]["pending"] if isinstance(shown["tasks"], dict) else [task["id"] for task in shown["tasks"]]
    assert ids == [f"task-{number}" for number in range(100)]
    assert shown["cut"]["tasks"] == "their checklists are left out"


def test_the_next_task_is_told_whole_at_its_greatest_length() -> None:
    items = [{"item": f"{number:02d} {'x' * 32}", "status": "pending"} for number in range(100)]
    task = {"id": "t" * 64, "description": "d" * 100, "status": "pending", "checklist": items}
    data = {"phase": "READY", "instruction": "i" * 500, "expected_payload": {"p": "e" * 900}, "next_task": task}
    shown = shortened(data)
    assert size(shown) <= MAX_TOKENS
    assert shown["next_task"]["checklist"] == [item["item"] for item in items]
