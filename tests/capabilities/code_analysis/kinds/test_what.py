"""What a thing is and does."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.what import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids


@pytest.mark.parametrize(
    "text",
    [
        "What is BackgroundTask?",
        "What does decide do?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What calls decide?",
        "What happens when it fails?",
        "What is this project?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_its_code_and_what_it_passes_its_work_on_to_are_read() -> None:
    assert step_ids("What does `decide` do?") == [
        "find",
        "name0",
        "read",
        "whole",
        "use0",
        "use",
        "inner",
        "inner_calls",
    ]
