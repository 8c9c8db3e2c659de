"""The lines of a piece that are read beside a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.semantics.cross_encoding.telling_window import (
    MAX_HEAD_CHARS,
    SPARE_CHARS,
    WINDOW_CHARS,
    telling_window,
)

HEAD = "src/bank.py Bank.refund"


def piece(*lines: str) -> str:
    return "\n".join((HEAD, *lines))


def test_the_lines_that_share_most_words_are_read_behind_the_name() -> None:
    others = [f"filler = {number}" for number in range(60)]
    text = piece(*others, "def refund_order(order):", "    return order.total", *others)
    told = telling_window("How is an order refunded?", text).split("\n")
    assert told[0] == HEAD
    assert "def refund_order(order):" in told


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, True), (1, False)])
def test_a_text_that_is_hardly_longer_is_read_whole(more: int, is_whole: bool) -> None:
    text = "src/a.py f\n"
    text += "x" * (WINDOW_CHARS + SPARE_CHARS + more - len(text))
    assert (telling_window("what is x", text) == text) is is_whole


@pytest.mark.parametrize(("more", "is_kept"), [(-1, True), (0, True), (1, False)])
def test_a_first_line_that_is_too_long_is_no_name(more: int, is_kept: bool) -> None:
    head = "n" * (MAX_HEAD_CHARS + more)
    told = telling_window("what", head + "\n" + "code\n" * 200)
    assert told.startswith(head + "\ncode")
    assert (len(told) > WINDOW_CHARS) is is_kept


def test_of_equal_windows_the_first_is_read() -> None:
    text = piece(*(f"line {number} {'-' * 20}" for number in range(100)))
    assert telling_window("nothing of this", text).split("\n")[1].startswith("line 0 ")


def test_a_line_that_is_longer_than_a_window_is_cut() -> None:
    told = telling_window("refund", piece("a" * 700, "refund " * 200))
    assert told == f"{HEAD}\n" + ("refund " * 200)[:WINDOW_CHARS]


@given(st.text(max_size=80), st.text(alphabet="ab \n\r\tréfund", max_size=2_000))
def test_what_is_read_is_part_of_the_text_and_no_longer_than_a_window(question: str, text: str) -> None:
    told = telling_window(question, text)
    assert len(told) <= max(WINDOW_CHARS + SPARE_CHARS, MAX_HEAD_CHARS + 1 + WINDOW_CHARS)
    assert told in text or all(part in text for part in told.split("\n", 1))
