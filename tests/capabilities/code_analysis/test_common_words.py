"""A common word in the place of a name, and what documents say of how a thing is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files
from tests.repositories import repository_files

FILES = repository_files("namesakes")


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", FILES)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


async def answer(desk: AnalysisHarness, question: str) -> str:
    document = await desk.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    return str(document["answer"])


async def test_what_speaks_most_of_a_question_in_words_leads_and_what_it_names_follows(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How does stamp check the input of a letter?")
    assert told.startswith("`CheckInput` in `post/counter.py`: «Checks the input of a letter: whatever letter")
    assert "`Counter` [post/counter.py:4-6]\n\n```\nclass Counter(CounterABC):\n    def stamp(self, letter, *" in told


async def test_a_word_that_nothing_is_called_like_is_no_name_that_is_missing(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How does franking check the input of a letter?")
    assert "No place told here names" not in told
    assert told.startswith("`CheckInput")


async def test_an_option_is_led_by_what_is_called_like_it_and_not_by_what_speaks_of_options(
    desk: AnalysisHarness,
) -> None:
    told = await answer(desk, "Where is the inked option configured?")
    assert told.startswith("`Options` in `post/counter.py`")
    assert "inked = True" in told.split("```")[1]


async def test_how_a_thing_is_done_is_led_by_the_document_that_tells_where_no_code_is_named_after_it(
    desk: AnalysisHarness,
) -> None:
    told = await answer(desk, "How do I add a pouch to a bag?")
    assert "`docs/guide.md` says: «To add a pouch to a bag, write it into `bag.pouches`:» [docs/guide.md:5]" in told
    assert "No use of it" not in told
    assert "No test" not in told


async def test_a_document_that_has_only_some_of_the_words_does_not_lead(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How do I add an addressee to a letter?")
    assert told.startswith("`addressee` in `post/counter.py` [post/counter.py:29-31]")


async def test_a_document_that_alone_speaks_of_a_question_leads(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How do I hire a courier?")
    assert told.startswith("`docs/couriers.md` says: «")
    assert "«To hire a courier, hire the courier:" in told
