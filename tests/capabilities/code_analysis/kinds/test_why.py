"""The reason for a thing."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.why import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import planned


@pytest.mark.parametrize(
    "text",
    [
        "Why is the deadline kept apart?",
        "What's the reason for max_retries?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What happens when a deadline is kept?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_of_a_name_the_commits_of_any_place_are_asked_for() -> None:
    history = next(step for step in planned("Why was `decide` added?") if step.purpose == "history")
    assert not history.named_only
    assert history.arguments == {"origin": True}


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Why was `decide` added?", True), ("Why is there a cache?", False), ("Why does `decide` wait?", False)],
)
def test_it_asks_for_the_first_commit_of_what_it_names_and_says_is_there(text: str, asks: bool) -> None:
    assert analyse(text).asks_for_origin is asks


def test_its_commits_stand_behind_the_lead() -> None:
    assert KIND.first_roles == ("change",)
