"""Which lines of a further place an answer shows."""

from __future__ import annotations

import textwrap

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.places.shown_blocks import (
    MAX_BLOCK_LINES,
    MAX_MORE_LINES,
    MOST_TRIMMED,
    block_of,
    part_of,
    trimmed,
)
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpts import Excerpt, excerpt_of

LINE = st.text("ab weigh()[]{}#/*\"'.,:;_=-\t", max_size=30) | st.sampled_from(
    ["def weigh(parcel):", "    return parcel", '    """Weighs a parcel."""', "}", "", "# the parcel", "    if heavy:"]
)


def excerpt(lines: list[str], words: str = "parcel weight", first: int = 1) -> Excerpt:
    return excerpt_of(lines, first, dict.fromkeys(index_terms(words).split(), 1.0))


def test_a_short_place_is_shown_whole_without_the_comment_above() -> None:
    block = block_of(excerpt(["# Weighs.", "def weigh(parcel):", "    return parcel.weight"], first=4))
    assert block is not None
    assert block == (5, 6, "def weigh(parcel):\n    return parcel.weight")


def test_the_condition_and_its_outcome_are_shown_of_a_long_one() -> None:
    steps = [f"    step({number})" for number in range(9)]
    told = ["    if parcel.weight > limit:", "        raise TooHeavy(parcel)"]
    chosen = excerpt(["def load(parcel):", *steps, *told, *steps])
    block = block_of(chosen)
    assert block is not None
    assert textwrap.dedent("\n".join(told)) in block.text
    assert len(block.text.split("\n")) <= MAX_BLOCK_LINES + MAX_MORE_LINES


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, True), (1, False)])
def test_what_is_whole_with_a_few_lines_more_is_shown_whole(more: int, is_whole: bool) -> None:
    count = MAX_BLOCK_LINES + MAX_MORE_LINES + more
    lines = ["def load(parcel):", *(f"    weight = weight + {number}" for number in range(count - 1))]
    block = block_of(excerpt(lines))
    assert block is not None
    assert (block.text == "\n".join(lines)) is is_whole


@pytest.mark.parametrize("closing", ["}", "    });", "  end", "done", ""])
@pytest.mark.parametrize("opening", ["if heavy {", "for each in parcels:", "unless light then", "weigh(", "limit ="])
@pytest.mark.parametrize("count", [MOST_TRIMMED - 1, MOST_TRIMMED, MOST_TRIMMED + 1])
def test_what_is_only_closed_or_opened_at_the_ends_is_left_out(closing: str, opening: str, count: int) -> None:
    lines = [*[closing] * count, "weigh(parcel)", "    return scale", *[opening] * count]
    first, last = trimmed(lines, 0, len(lines) - 1)
    left = max(0, count - MOST_TRIMMED)
    assert (first, last) == (count - left, count + 1 + left)


def test_at_least_one_line_is_left() -> None:
    assert trimmed(["}", "}"], 0, 1) == (1, 1)
    assert trimmed(["if heavy {", "for each {"], 0, 1) == (0, 0)


@pytest.mark.parametrize(
    "lines",
    [["# The weight of a parcel.", "# It is in grams."], ["weight = 3"], ["import parcel", "from weight import limit"]],
    ids=["a comment", "one line", "imports"],
)
def test_what_shows_no_two_lines_of_code_is_no_block(lines: list[str]) -> None:
    assert block_of(excerpt(lines)) is None


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_branch_is_shown_with_its_head_and_to_its_end_if_it_fits(more: int) -> None:
    steps = [f"    step({number})" for number in range(4)]
    notes = [f"        scale.note({number})" for number in range(MAX_BLOCK_LINES + MAX_MORE_LINES - 4 + more)]
    told = ["        parcel.weight = limit", "        parcel.limit = weight"]
    branch = ["    if heavy:", *notes, *told, "        scale.clear()"]
    lines = [*steps, *branch, *steps]
    chosen = msgspec.structs.replace(
        excerpt(lines[:3]),
        shown_start=1,
        shown_end=len(lines),
        text="\n".join(lines),
        quoted=tuple(number for number, line in enumerate(lines, 1) if line in told),
    )
    block = block_of(chosen)
    assert block is not None
    whole = textwrap.dedent("\n".join(branch))
    assert (block.text == whole) is (more <= 0)


@given(st.lists(LINE, min_size=1, max_size=60), st.integers(1, 10_000))
def test_a_block_shows_lines_of_the_place_in_order(lines: list[str], first: int) -> None:
    chosen = excerpt(lines, first=first)
    block = block_of(chosen)
    if block is None:
        return
    assert first <= block.first <= block.last < first + len(lines)
    own = iter(line.strip() for line in lines[block.first - first : block.last - first + 1])
    assert all(line.strip() in own for line in block.text.split("\n"))
    assert 2 <= len(block.text.split("\n")) <= MAX_BLOCK_LINES + MAX_MORE_LINES


def test_a_block_of_code_behind_documentation_has_the_numbers_of_that_code() -> None:
    chosen = msgspec.structs.replace(excerpt(["# about a parcel"]), body=((31, "weigh(parcel)"), (32, "return parcel")))
    assert block_of(chosen) == (31, 32, "weigh(parcel)\nreturn parcel")


@given(st.lists(LINE, min_size=1, max_size=60), st.integers(1, 20))
def test_a_part_of_code_is_lines_of_it_in_a_row(lines: list[str], most: int) -> None:
    code = "\n".join(lines)
    part = part_of(code, index_terms("parcel weight").split(), most)
    assert len(part.split("\n")) <= most + MAX_MORE_LINES
    stripped = "\n".join(line.strip() for line in part.split("\n"))
    assert stripped in "\n".join(line.strip() for line in lines)
