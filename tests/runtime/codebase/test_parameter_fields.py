"""Which parameter a line of documentation goes on to describe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.search.prose.parameter_fields import MAX_LINES, parameter_of

SPHINX = """\
    Syncs both sides.

    :param int cups: How many cups
        are filled.
    :param spoon: What to do.

        - ``stir`` (default): Stir until it is sweet.

    :returns: the cups
        that are full
    With milk.
    """
GOOGLE = """\
    Fills cups.

    Args:
        cups (int): How many
            are filled.
        **spoons: All of
            them.

    Returns:
        A cup that
            is full.

    Note: this
        goes on.
"""
JSDOC = """\
     * Fills cups.
     * @param {Array<Cup>} [cups] which ones
     *     are filled
     * @return the cup
     *     that is full
"""
PHP = """\
     * @param int|null $cups how many
     *     are filled
"""


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (SPHINX, "Syncs both sides.", ""),
        (SPHINX, "How many cups", ""),  # it has the name itself
        (SPHINX, "are filled.", "cups"),
        (SPHINX, "- ``stir``", "spoon"),
        (SPHINX, "that are full", ""),
        (SPHINX, "With milk.", ""),
        (GOOGLE, "How many", ""),
        (GOOGLE, "are filled.", "cups"),
        (GOOGLE, "them.", "spoons"),
        (GOOGLE, "is full.", ""),
        (GOOGLE, "goes on.", ""),
        (JSDOC, "are filled", "cups"),
        (JSDOC, "that is full", ""),
        (PHP, "are filled", "cups"),
    ],
)
def test_what_stands_below_the_field_of_a_parameter_is_about_that(text: str, line: str, expected: str) -> None:
    lines = text.split("\n")
    at = next(at for at, each in enumerate(lines) if line in each)
    assert parameter_of(lines, at) == expected


@pytest.mark.parametrize(("between", "expected"), [(MAX_LINES - 2, "cups"), (MAX_LINES - 1, "")])
def test_a_field_is_looked_for_in_so_many_lines(between: int, expected: str) -> None:
    lines = [":param cups: which", *["    more"] * between, "    the last"]
    assert parameter_of(lines, len(lines) - 1) == expected


@given(st.lists(st.text(" \t*:@param(){}[]$|abc", max_size=40), min_size=1, max_size=12), st.data())
def test_any_lines_are_looked_through_and_a_name_stands_above(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    named = parameter_of(lines, at)
    assert not named or any(named in line for line in lines[:at])
