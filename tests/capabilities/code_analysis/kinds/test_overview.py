"""The repository as a whole."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.overview import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import planned


@pytest.mark.parametrize(
    "text",
    [
        "What does this project do?",
        "What is this repository?",
        "How is this project organised?",
        "Overview",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What does `decide` do?",
        "Explain the cache of this house",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_the_repository_is_described() -> None:
    (step,) = planned("What does this project do?")
    assert (step.tool, step.arguments) == ("describe_folder", {"path": "."})


def test_it_needs_no_subject_and_refers_to_nothing_earlier() -> None:
    asked = analyse("Overview")
    assert asked.intelligible
    assert not analyse("What is this project and how is it organised?").refers_back
