"""What a definition that leads says of itself: its first sentence, and the second where that goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.wording import (
    MAX_TWO_SENTENCES_CHARS,
    first_sentence,
    first_two_sentences,
)

FIRST = "Sends what is asked for to the depot."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{FIRST}\nMixing it in makes all methods its own. It is used at the top.", 2),
        (f"{FIRST}\n\nMixing it in makes all methods its own.", 2),
        (FIRST, 1),
        (f"{FIRST}\n\n:param box: What holds it.", 1),
        (f"{FIRST}\n\nArgs:\n    box: What holds it.", 1),
        (f"{FIRST}\n\nReturns the box.", 1),
        (f"{FIRST}\n\n>>> send(1)\n1.", 1),
        (f"{FIRST} And so on, without an end", 1),
        ("Sends three things to the depot:\n\nBoxes are one of them.", 1),
    ],
)
def test_the_second_sentence_is_told_where_it_goes_on(text: str, told: int) -> None:
    said = first_two_sentences(text)
    assert said.startswith(first_sentence(text))
    assert (said != first_sentence(text)) == (told == 2)
    assert "at the top" not in said


@pytest.mark.parametrize(("more", "is_told"), [(-1, True), (0, True), (1, False)])
def test_both_are_told_if_they_are_short_enough(more: int, is_told: bool) -> None:
    second = "M" * (MAX_TWO_SENTENCES_CHARS + more - len(FIRST) - 2) + "."
    assert first_two_sentences(f"{FIRST} {second}") == (f"{FIRST} {second}" if is_told else FIRST)


def test_a_short_first_sentence_has_the_second_one_already() -> None:
    text = "Receives it. From whoever asks for it. It is slow."
    assert first_two_sentences(text) == "Receives it. From whoever asks for it."


@given(st.text(max_size=600))
def test_it_is_never_less_than_the_first_sentence_nor_much_longer(text: str) -> None:
    said = first_two_sentences(text)
    assert said.startswith(first_sentence(text).removesuffix(" …")[:50])
    assert len(said) <= max(MAX_TWO_SENTENCES_CHARS, len(first_sentence(text)))
