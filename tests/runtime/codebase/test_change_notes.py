"""What documentation says of earlier versions is no description of the present one."""

from __future__ import annotations

import pytest

from runtime.codebase.files.words import index_terms
from runtime.codebase.search.prose.change_notes import asks_for_changes, is_change_note
from runtime.codebase.search.prose.sentences import best_quote

PRINT = '''def echo(message):
    """Print a message and newline to the terminal.

    :param color: Removes colors where the output is no terminal.

    .. versionchanged:: 6.0
        Colors are printed on Windows as well, and print colors are
        kept where the output is no terminal.

    .. versionadded:: 2.0

    The terminal is told by its streams.
    """
'''.splitlines()


@pytest.mark.parametrize(
    ("line", "is_note"), [(1, False), (3, False), (5, True), (6, True), (7, True), (9, True), (11, False), (12, False)]
)
def test_a_note_goes_on_as_far_as_it_is_indented(line: int, is_note: bool) -> None:
    assert is_change_note(PRINT, line) is is_note


@pytest.mark.parametrize(
    ("line", "is_note"),
    [
        (" * @since 2.0 colors are printed", True),
        (" * @deprecated print them yourself", True),
        (" * @see #print", False),
        ("// since 2.0 colors are printed", False),
    ],
)
def test_marks_of_versions_begin_notes(line: str, is_note: bool) -> None:
    assert is_change_note([line], 0) is is_note


def weights(words: str) -> dict[str, float]:
    return dict.fromkeys(index_terms(words).split(), 1.0)


def test_a_note_is_quoted_only_where_versions_are_asked_for() -> None:
    said = best_quote(PRINT, 1, weights("print colors output terminal"), is_document=False)
    assert said is not None
    assert said.start_line == 4
    asked = best_quote(PRINT, 1, weights("print colors output terminal changed Windows"), is_document=False)
    assert asked is not None
    assert asked.start_line == 7


@pytest.mark.parametrize(
    ("question", "asks"),
    [("When was color added?", True), ("Which version changed it?", True), ("How are colors printed?", False)],
)
def test_questions_for_versions_are_told_by_their_words(question: str, asks: bool) -> None:
    assert asks_for_changes(index_terms(question).split()) is asks
