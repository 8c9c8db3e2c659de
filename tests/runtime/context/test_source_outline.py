"""The outline of a function: what is left out of it, and that every line keeps its number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.context.models import ExtractionSuggestion
from runtime.context.source_outline import WHOLE_LINES, outlined


def suggestion(start: int, end: int) -> ExtractionSuggestion:
    return ExtractionSuggestion(start_line=start, end_line=end, suggested_name="load_rows", reason="1 input")


def function(lines: int) -> str:
    return "\n".join(["def load(path):", *(f"    step({number})" for number in range(2, lines + 1))])


def test_a_docstring_of_three_lines_is_left_out_and_a_shorter_one_stays() -> None:
    long = 'def f(\n    a: int,\n) -> None:\n    """Do a thing.\n\n    At length.\n    """\n    return a'
    assert outlined(long, 10, ()) == "def f(\n    a: int,\n) -> None:\n# ... lines 13-16\n    return a"
    short = 'def f():\n    """Do\n    it."""\n    return 1'
    assert outlined(short, 10, ()) == short
    line = 'def f():\n    """Do it."""\n    x = """\n\n\n    """\n    return x'
    assert outlined(line, 10, ()) == line


@pytest.mark.parametrize(
    ("lines", "is_whole"), [(WHOLE_LINES - 1, True), (WHOLE_LINES, True), (WHOLE_LINES + 1, False)]
)
def test_long_source_is_cut_to_its_head_and_the_suggestions(lines: int, is_whole: bool) -> None:
    source = function(lines)
    shown = outlined(source, 101, [suggestion(120, 122)])
    if is_whole:
        assert shown == source
    else:
        assert shown.split("\n") == [
            "def load(path):",
            "# ... lines 102-117",
            *(f"    step({number})" for number in range(18, 25)),
            f"# ... lines 125-{100 + lines}",
        ]


def test_source_without_suggestions_or_with_those_of_another_state_is_shown_whole() -> None:
    assert outlined(function(99), 1, ()) == function(99)
    assert outlined(function(99), 1, [suggestion(500, 510)]) == function(99)


@given(
    st.lists(st.sampled_from(["def f():", '    """', "    x", "", "  y:"]), max_size=150),
    st.integers(1, 900),
    st.data(),
)
def test_every_line_is_shown_or_marked_under_its_number(lines: list[str], first: int, data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(1, 1_000), max_size=4))
    source = "\n".join(lines)
    number = first
    for line in outlined(source, first, [suggestion(start, start + 5) for start in starts]).split("\n"):
        if mark := re.fullmatch(r"# \.\.\. lines (\d+)-(\d+)", line):
            assert int(mark[1]) == number
            number = int(mark[2]) + 1
        else:
            assert line == source.split("\n")[number - first]
            number += 1
    assert number - first == len(source.split("\n"))
