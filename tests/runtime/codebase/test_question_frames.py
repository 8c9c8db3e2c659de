from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.words import query_terms
from runtime.codebase.search.question_frames import MAX_FRAMED_CHARS, without_frame

_WORDS = [
    "please",
    "explain",
    "how",
    "the",
    "give",
    "me",
    "an",
    "overview",
    "of",
    "retries",
    "which",
    "parts",
    ",",
    "?",
]


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Which parts of the code deal with retries, and how do they work together?", "retries"),
        ("Give me an overview of how the pool decides to close.", "how the pool decides to close."),
        ("Can you explain to me how retries work under the hood?", "how retries work"),
        ("What is the overall flow of a request from start to finish?", "a request"),
        ("I'm trying to understand where timeouts are applied.", "where timeouts are applied."),
        ("What are the main components responsible for scheduling and what does each of them do?", "scheduling"),
        ("Please, could you show me the tests of decide?", "the tests of decide?"),
    ],
)
def test_what_only_frames_a_question_is_taken_off(question: str, asked: str) -> None:
    assert without_frame(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Give me an overview",
        "How do they work together?",
        "Which file formats are supported?",
        "How does the overview page list the parts of a parcel?",
        "Where is the walkthrough of the tour built?",
        "Explain",
        "",
    ],
)
def test_what_is_asked_about_stays(question: str) -> None:
    assert without_frame(question) == question


@pytest.mark.parametrize(("chars", "is_framed"), [(-1, True), (0, True), (1, False)])
def test_a_report_keeps_its_first_words(chars: int, is_framed: bool) -> None:
    opening = "Please explain how "
    text = opening + "retries ".ljust(MAX_FRAMED_CHARS + chars - len(opening), "x")
    assert (without_frame(text) != text) is is_framed


@given(st.lists(st.sampled_from(_WORDS)))
def test_a_part_of_the_question_is_left_that_tells_as_much_as_before_or_all(words: list[str]) -> None:
    text = " ".join(words)
    left = without_frame(text)
    assert left in text
    assert left == text or query_terms(left).counts
