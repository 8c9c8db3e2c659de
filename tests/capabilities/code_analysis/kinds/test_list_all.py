"""All things of a kind."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.kinds.list_all import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import planned, step_ids


@pytest.mark.parametrize(
    "text",
    [
        "List all errors",
        "Name every error class",
        "Which errors are raised?",
        "What errors are there?",
        "list all agents",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What is an error?",
        "Show the call graph of decide",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_entries_are_searched_for_and_filled_up_from_the_best_file_and_documents() -> None:
    assert step_ids("List all errors") == ["list", "types", "file", "documents", "sections", "heirs"]


def test_all_of_a_kind_of_code_are_looked_up_at_once() -> None:
    (step,) = planned("List all functions in app.py")
    assert step.arguments == {"query": "*", "max_results": 40, "kinds": ["function"], "scope": "app.py"}


def test_it_speaks_of_several_things_and_needs_no_name() -> None:
    assert KIND.of_several
    assert analyse("List all errors").aspects == ("listing",)
