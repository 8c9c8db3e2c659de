"""Who changed a thing, and when."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.changed import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import planned


@pytest.mark.parametrize(
    "text",
    [
        "When was the deadline added?",
        "Who last changed `decide`?",
        "How has the router changed?",
        "What is the history of decide?",
        "How old is the retry logic?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "When is the cache updated?",
        "What changes with decide?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


@pytest.mark.parametrize(("text", "count"), [("Who changed `decide`?", 2), ("Who changed decide in app.py?", 2)])
def test_the_commits_of_two_places_that_bear_the_name_are_asked_for(text: str, count: int) -> None:
    history = next(step for step in planned(text) if step.purpose == "history")
    assert (history.named_only, history.count) == (True, count)


def test_of_a_file_alone_it_asks_for_nothing_but_its_commits() -> None:
    assert analyse("What is the history of README.md?").aspects == ("history",)
    assert [step.id for step in planned("What is the history of README.md?") if step.purpose == "history"] == [
        "history0"
    ]


def test_it_may_be_asked_of_the_whole_repository() -> None:
    asked = analyse("What changed recently in this repository?")
    assert asked.is_of_whole
    assert asked.aspects == ("history",)


@pytest.mark.parametrize(("text", "asks"), [("When was `decide` added?", True), ("Who last changed `decide`?", False)])
def test_who_asks_since_when_there_is_a_thing_asks_for_its_first_commit(text: str, asks: bool) -> None:
    assert analyse(text).asks_for_origin is asks
