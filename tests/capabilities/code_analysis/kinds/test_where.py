"""Where a thing is defined, and where something is done."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.where import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids


@pytest.mark.parametrize(
    "text",
    [
        "Where is `decide` defined?",
        "Find the retry logic",
        "In which file is the port read?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "Where is decide called?",
        "Where is the port configured?",
        "Where is `depth` set?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_of_a_name_it_needs_no_uses() -> None:
    assert step_ids("Where is `enforce` defined?") == ["find", "name0", "read"]


def test_its_subject_ends_before_what_is_said_of_the_place() -> None:
    assert analyse("Where is the timer of leases defined?").subject == "the timer of leases"


@pytest.mark.parametrize(("text", "asks"), [("Where is it decided?", True), ("Where is `Route` defined?", False)])
def test_it_asks_for_what_does_something_where_something_is_done(text: str, asks: bool) -> None:
    assert KIND.asks_for_deed(analyse(text)) is asks
