"""Edits by lines and by quotation keep the rest of the file, its encoding and its line endings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.violation_fix.actions.text_edits import (
    EditRefused,
    SourceText,
    decoded,
    replace_lines,
    replace_quoted,
    syntax_problem,
)

LINES = st.lists(st.sampled_from(["a = 1", "", "\tb", "é\x0c", "x\u2028y", "#\x1c"]), min_size=1, max_size=8)


def source(text: str, newline: str = "\n") -> SourceText:
    return SourceText(text.replace("\n", newline), "utf-8", newline)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.data())
def test_lines_replaced_by_themselves_leave_the_file_as_it_was(lines: list[str], end: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    text = source("\n".join(lines) + "\n", end)
    assert replace_lines(text, first, last, "\n".join(lines[first - 1 : last]) + "\n") == text.text


@given(LINES, st.data())
def test_only_the_named_lines_change(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    edited = replace_lines(source("\n".join(lines) + "\n"), first, last, "new")
    assert edited == "\n".join([*lines[: first - 1], "new", *lines[last:]]) + "\n"


@pytest.mark.parametrize(("first", "last", "is_refused"), [(0, 1, True), (1, 3, False), (1, 4, True), (3, 2, True)])
def test_lines_outside_the_file_are_refused(first: int, last: int, is_refused: bool) -> None:
    edited = replace_lines(source("a\nb\nc\n"), first, last, "")
    assert isinstance(edited, EditRefused) is is_refused


def test_a_quotation_is_replaced_where_it_occurs_once_in_the_files_own_line_endings() -> None:
    text = source("a = 1\nb = 2\na = 1\n", "\r\n")
    assert replace_quoted(text, "b = 2\na", "c = 3\nd") == "a = 1\r\nc = 3\r\nd = 1\r\n"
    twice, never = replace_quoted(text, "a = 1", "x"), replace_quoted(text, "z", "x")
    assert isinstance(twice, EditRefused) and "2 times" in twice.reason
    assert isinstance(never, EditRefused) and never.category == "not_found"
    assert isinstance(replace_quoted(text, "", "x"), EditRefused)


def test_a_file_is_decoded_and_encoded_by_its_own_declaration() -> None:
    content = "# coding: latin-1\nname = 'é'\n".encode("latin-1")
    read = decoded(content, is_python=True)
    assert isinstance(read, SourceText)
    assert read.encoded(read.text) == content
    with_mark = b"\xef\xbb\xbfx = 1\r\n"
    read = decoded(with_mark, is_python=True)
    assert isinstance(read, SourceText) and read.newline == "\r\n" and read.encoded(read.text) == with_mark


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"# coding: nothing\n", b"# coding: rot13\nk = 1\n"])
def test_a_file_that_cannot_be_decoded_is_refused_with_the_reason(content: bytes) -> None:
    refused = decoded(content, is_python=True)
    assert isinstance(refused, EditRefused) and "cannot be decoded" in refused.reason


@pytest.mark.parametrize(("text", "is_fine"), [("a = 1\n", True), ("def\n", False), ("\0", False), ("(" * 5000, False)])
def test_what_would_not_parse_is_told_with_its_line(text: str, is_fine: bool) -> None:
    problem = syntax_problem(text)
    assert (problem is None) is is_fine
    assert problem is None or problem.category == "syntax_error"
