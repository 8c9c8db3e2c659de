"""What changes together with a thing."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.changes_with import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids


@pytest.mark.parametrize(
    "text",
    [
        "What else changes with decide?",
        "Which files usually change together with the router?",
        "What is co-changed with app.py?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "Who changed decide?",
        "What happens when the file is changed?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_of_a_name_the_files_that_change_with_it_are_asked_for() -> None:
    assert step_ids("What changes with `decide`?") == ["find", "name0", "read", "together"]


def test_of_a_file_alone_it_asks_for_nothing_else() -> None:
    assert analyse("What changes with app.py?").aspects == ("together",)
    assert "together0" in step_ids("What changes with app.py?")


def test_what_changes_with_it_stands_behind_the_lead() -> None:
    assert KIND.first_roles == ("together",)
