"""How a question is taken in."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents.perception import MAX_QUESTION_CHARS, MAX_WORD_CHARS, normalise, perceive
from runtime.bus.queries import LocalQueries
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import AnalysisHarness, no_context

REPOSITORY: dict[str, Any] = {"root": "/r", "index_path": "/i", "commit": None, "stats": {"files": 2, "lines": 30}}


@pytest.mark.parametrize(
    ("text", "taken_in"),
    [
        ("  Where\tis\n it? ", "Where is it?"),
        ("a\x00b\u202ec\u200bd", "a b c d"),
        ("Cafe\u0301", "Café"),
        ("\u2028 \u2029", ""),
    ],
)
def test_a_question_is_put_on_one_line_in_composed_letters(text: str, taken_in: str) -> None:
    assert normalise(text) == taken_in


@pytest.mark.parametrize(("given_", "kept"), [(-1, -1), (0, 0), (1, 0)])
def test_a_question_is_cut_at_its_limit(given_: int, kept: int) -> None:
    assert len(normalise(("xx " * MAX_QUESTION_CHARS)[: MAX_QUESTION_CHARS + given_])) == MAX_QUESTION_CHARS + kept


@given(st.lists(st.sampled_from(["a.", "a-", "/", "\u00e9", " ", "\n", "x" * 150]), max_size=40))
def test_no_word_of_a_question_is_longer_than_its_limit(pieces: list[str]) -> None:
    text = "".join(piece * 37 for piece in pieces)
    taken_in = normalise(text)
    assert max(map(len, taken_in.split(" "))) <= MAX_WORD_CHARS
    assert "".join(text.split()).startswith(taken_in.replace(" ", ""))


@pytest.mark.parametrize(("more", "words"), [(-1, 1), (0, 1), (1, 2)])
def test_a_word_longer_than_its_limit_is_cut_in_parts(more: int, words: int) -> None:
    assert len(normalise("a" * (MAX_WORD_CHARS + more)).split()) == words


@given(st.text(st.characters(), max_size=80))
def test_what_was_taken_in_is_printable_and_stays_as_it_is(text: str) -> None:
    taken_in = normalise(text)
    assert normalise(taken_in) == taken_in
    assert taken_in == taken_in.strip()
    assert not {unicodedata.category(char) for char in taken_in} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    taken_in.encode("utf-8")


async def test_an_index_that_a_door_has_refreshed_is_not_asked_for_again() -> None:
    result = await perceive(no_context(), StageView(raw_input="?", metadata={"repo": "/r", "repository": REPOSITORY}))
    assert result.output["repository"] == REPOSITORY
    assert result.output["memory_context"] == {"turns": [], "earlier_answers": [], "understood": []}
    assert result.output["context_summary"] == "2 files, 30 lines"


async def test_the_writer_of_the_index_is_asked_where_no_door_has() -> None:
    asked: list[dict[str, Any]] = []

    async def refresh(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body)
        return REPOSITORY

    queries = LocalQueries()
    queries.register({"index.refresh": refresh})
    result = await perceive(no_context(queries=queries), StageView(raw_input="?", metadata={"repo": "/r"}))
    assert asked == [{"root": "/r"}]
    assert result.output["repository"] == REPOSITORY


async def test_earlier_questions_of_the_session_are_recalled(relay: AnalysisHarness) -> None:
    await relay.ask("What is `Depot`?", session_id="recalled")
    envelope = await relay.run("Where is it?", session_id="recalled")
    (turn,) = envelope.outputs["perception"]["memory_context"]["turns"]
    assert turn["question"] == "What is `Depot`?"
    assert envelope.outputs["perception"]["context_summary"].endswith("1 earlier questions")
