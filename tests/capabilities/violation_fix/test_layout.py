"""A file that its formatter leaves alone is so after a refactoring, too; any other file keeps its own layout."""

from __future__ import annotations

from actors.capabilities.violation_fix.checks.layout import keep_layout

CLEAN = "def f(a):\n    return a + 'x'\n"
UNEVEN = "def g(a):\n    return [\n        a\n    ]\n"


def test_what_a_refactoring_wrote_is_formatted_where_the_file_was() -> None:
    after = CLEAN + "\n\n" + UNEVEN
    assert keep_layout(CLEAN, after, 88) == CLEAN + "\n\ndef g(a):\n    return [a]\n"


def test_the_length_of_lines_is_the_one_by_which_the_file_was_clean() -> None:
    before = "def f(a):\n    return a + '" + "x" * 75 + "' + '" + "y" * 8 + "'\n"
    assert len(before.splitlines()[1]) > 88
    assert keep_layout(before, before + "\n\n" + UNEVEN, 79) == before + "\n\ndef g(a):\n    return [a]\n"


def test_a_file_with_a_layout_of_its_own_keeps_it() -> None:
    before = "def f( a ):\n    return a\n"
    assert keep_layout(before, before + UNEVEN, 88) == before + UNEVEN


def test_what_does_not_parse_stays_as_it_is() -> None:
    assert keep_layout(CLEAN, "def g(:\n", 88) == "def g(:\n"
    assert keep_layout("def g(:\n", UNEVEN, 88) == UNEVEN
