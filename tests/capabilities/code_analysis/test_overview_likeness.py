"""Questions about a whole are told from others by their words, in wordings that nobody listed."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.question.overview_likeness import (
    MAX_CHARS,
    UNKNOWN,
    UNKNOWN_TOLD,
    features_of,
    likeness,
    speaks_of_whole,
    weights_of_words,
)
from actors.capabilities.code_analysis.question.overview_wording import is_overview
from tests.ranking.overviews import JUDGING, LEARNT, Asked, fit, read


def test_nine_of_ten_questions_about_wholes_are_recognised_and_hardly_any_other() -> None:
    asked = read(JUDGING)
    wholes = [row for row in asked if row.overview]
    assert len(wholes) > 150
    assert sum(is_overview(row.text) for row in wholes) >= 0.9 * len(wholes)
    others = [row.text for row in asked if not row.overview]
    assert len(others) > 150
    assert [text for text in others if is_overview(text)] == []


def test_no_question_that_judges_was_learnt_from() -> None:
    learnt = {row.text.lower() for row in read(LEARNT)}
    assert learnt.isdisjoint(row.text.lower() for row in read(JUDGING))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I inherited this from a colleague who left. What is it and where do I start?", True),
        ("I inherited this from a colleague who left. Which port does it listen on?", False),
        ("Give me the big picture of this code.", True),
        ("Give me an overview of the retry queue in this project.", False),
        ("whats the architecure of this app, whcih parts talk to each other", True),
        ("What is `this` and how is it built?", False),
        ("What is this?", False),
        ("How does it work?", False),
        ("", False),
        ("?", False),
    ],
)
def test_one_word_of_the_code_makes_a_question_about_a_part(text: str, expected: bool) -> None:
    assert speaks_of_whole(text) is expected


def test_a_text_of_the_most_characters_may_be_one_and_a_longer_one_is_none() -> None:
    text = "What does this project do?"
    fill = "Hello. "
    longest = fill * ((MAX_CHARS - len(text)) // len(fill)) + text
    longest = " " * (MAX_CHARS - len(longest)) + longest
    assert (len(longest), likeness(longest) >= 0) == (MAX_CHARS, True)
    assert speaks_of_whole(longest[1:])
    assert speaks_of_whole(longest)
    assert not speaks_of_whole(" " + longest)


def test_words_of_a_sentence_that_only_tells_something_count_apart() -> None:
    found = features_of("We bought a zeppelin. What is in this balloon?", {"t:we": 1, "what": 1, "is": 1})
    assert {"t:we", "what", "is", "what is", "is ?", "? ?", "? $"} <= found.keys()
    assert not {"we", "zeppelin", "t:zeppelin", "t:what", "balloon"} & found.keys()
    assert found[UNKNOWN] == pytest.approx(math.sqrt(3))
    assert found[UNKNOWN_TOLD] == pytest.approx(math.sqrt(3))


@given(st.text(max_size=700))
def test_any_text_has_a_finite_sum_of_its_features(text: str) -> None:
    weights = weights_of_words()
    total = sum(weights.get(name, 0.0) * value for name, value in features_of(text, weights).items())
    assert math.isfinite(total)
    assert likeness(text) == pytest.approx(total)


@pytest.mark.parametrize("text", ["a/" * 300, "`" * 600, "a_" * 300, "what? " * 100, "a." * 300, "'a" * 300, "(" * 600])
def test_the_time_for_a_hostile_text_is_short(text: str) -> None:
    started_s = time.process_time()
    for _ in range(20):
        speaks_of_whole(text)
    assert time.process_time() - started_s < 1


def test_what_is_learnt_is_what_the_questions_teach() -> None:
    asked = [Asked(f"what is this {noun}", noun == "project") for noun in ("project", "lock", "queue", "door")] * 3
    weights = fit(asked, ["how long is the lock held"])
    assert likeness("what is this project", weights) > 0 > likeness("what is this lock", weights)
    assert likeness("what is this zeppelin", weights) < 0
