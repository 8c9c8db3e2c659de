"""«List all functions», «what classes are there?»: all that is of one kind of code, of all or of a path."""

from __future__ import annotations

import re

import pytest

from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.listing_scope import kinds_listed
from tests.capabilities.code_analysis.support import AnalysisHarness


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("List all functions", {"function"}),
        ("what functions are there?", {"function"}),
        ("List all classes in this repository", {"class"}),
        ("List all classes in relay/depot.py", {"class"}),
        ("Show all methods.", {"method", "constructor"}),
        ("List all functions of Depot", set()),
        ("List all type adapters", set()),
        ("List all errors", set()),
        ("How do functions work?", set()),
        ("Where are the functions?", set()),
    ],
)
def test_a_list_of_a_kind_names_nothing_but_the_kind_and_a_place(question: str, kinds: set[str]) -> None:
    assert kinds_listed(analyse(question)) == kinds


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("List all functions", ["is_full", "deliver_parcel"]),
        ("List all classes", ["RelayError", "DepotFullError", "ParcelLostError", "Depot"]),
        ("List all classes in relay/depot.py", ["Depot"]),
        ("List all methods", ["Depot.__init__", "Depot.accept", "Depot.release"]),
    ],
)
async def test_all_of_a_kind_is_listed_with_their_number_and_tests_are_left_out(
    relay: AnalysisHarness, question: str, names: list[str]
) -> None:
    document = await relay.ask(question)
    assert sorted(re.findall(r"^- `([\w.]+)`", document["answer"], re.MULTILINE)) == sorted(names)
    assert document["answer"].startswith(f"**{len(names)} found for ")
    assert (document["partial"], document["open_goals"]) == (False, [])


async def test_a_kind_that_is_not_there_is_said_to_be_missing(relay: AnalysisHarness) -> None:
    document = await relay.ask("List all traits")
    assert document["citations"] == []
    assert "I did not find this. A search for" in document["answer"]
