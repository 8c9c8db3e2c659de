"""The windows of a piece that are read beside a question."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.semantics.cross_encoding.reading_windows import (
    MAX_HEAD_CHARS,
    MAX_WINDOWS,
    SPARE_CHARS,
    WINDOW_CHARS,
    most_telling,
    windows_of,
)

HEAD = "src/bank.py Bank.refund"


def test_a_long_piece_is_cut_into_windows_that_overlap_and_hold_every_line() -> None:
    lines = [f"line {number} {'-' * 20}" for number in range(60)]
    windows = windows_of(HEAD, lines)
    assert windows[0].first == 0
    assert windows[-1].last == len(lines) - 1
    for one, following in itertools.pairwise(windows):
        assert one.first < following.first <= one.last < following.last
    assert all(window.text == "\n".join((HEAD, *lines[window.first : window.last + 1])) for window in windows)


def test_the_window_that_shares_most_words_with_a_question_tells_most() -> None:
    others = [f"filler = {number}" for number in range(60)]
    lines = [*others, "def refund_order(order):", "    return order.total", *others]
    told = most_telling("How is an order refunded?", windows_of(HEAD, lines))
    assert told.first <= 60 <= told.last
    assert "def refund_order(order):" in told.text


def test_a_window_that_shares_no_word_tells_most_if_its_terms_are_most_like_the_question() -> None:
    others = [f"filler = {number}" for number in range(60)]
    lines = [*others, "for attempt in range(most):", "    backoff.pause(attempt)", *others]
    told = most_telling("How long is waited before trying again?", windows_of(HEAD, lines))
    assert "backoff.pause(attempt)" in told.text


def test_of_windows_that_share_as_much_the_first_is_taken() -> None:
    windows = windows_of(HEAD, [f"line {number} {'-' * 20}" for number in range(100)])
    assert most_telling("nothing of this", windows).first == 0


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 2)])
def test_a_piece_that_is_hardly_longer_than_a_window_is_read_whole(more: int, count: int) -> None:
    lines = ["x" * 300, "x" * (WINDOW_CHARS + SPARE_CHARS + more - len(HEAD) - 302)]
    assert len(windows_of(HEAD, lines)) == count


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_name_above_a_window_is_cut(more: int) -> None:
    (window,) = windows_of("n" * (MAX_HEAD_CHARS + more), ["code"])
    assert window.text == "n" * min(MAX_HEAD_CHARS, MAX_HEAD_CHARS + more) + "\ncode"


def test_a_line_that_is_longer_than_a_window_is_cut_and_is_a_window_of_its_own() -> None:
    windows = windows_of(HEAD, ["a" * 700, "refund " * 200])
    assert [(window.first, window.last) for window in windows] == [(0, 0), (1, 1)]
    assert windows[1].text == f"{HEAD}\n" + ("refund " * 200)[:WINDOW_CHARS]


@pytest.mark.parametrize("count", [MAX_WINDOWS - 1, MAX_WINDOWS, MAX_WINDOWS + 1])
def test_a_piece_of_very_long_lines_has_at_most_ten_windows(count: int) -> None:
    assert len(windows_of(HEAD, ["x" * 1_000] * count)) == min(count, MAX_WINDOWS)


def test_a_piece_without_lines_is_its_name() -> None:
    assert windows_of(HEAD, []) == [(HEAD, 0, 0)]


@given(st.text(max_size=300), st.lists(st.text(alphabet="ab \t\réfund", max_size=700), max_size=60))
def test_windows_are_short_go_on_and_lie_within_their_piece(head: str, lines: list[str]) -> None:
    windows = windows_of(head, lines)
    assert all(len(window.text) <= MAX_HEAD_CHARS + 1 + WINDOW_CHARS + SPARE_CHARS for window in windows)
    assert all(0 <= window.first <= window.last < max(1, len(lines)) for window in windows)
    assert [window.first for window in windows] == sorted({window.first for window in windows})
