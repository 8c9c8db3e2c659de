"""Pairs a quoted comment with the lines of code that it is about, and with no others.

A comment on one setting beside the code of its neighbour reads as if it were about that one. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.search.prose.sentences import Sentence
from runtime.codebase.search.telling_lines import says_nothing

# What is said of one parameter: `@param name …`, `:param name: …`.
_PARAMETER = re.compile(
    r"(?:@param\s+(?:\{[^}]*\}\s+)?|:(?:param|arg|argument|keyword)\s+(?:[\w.\[\]]+\s+)?)\[?([\w$]+)"
)


def is_about(said: Sentence, number: int, line: str) -> bool:
    """Return whether a sentence may be told with a line: what its comment documents, members of it excepted.

    Of a document, and of a comment of which it is not known what it documents, it may not.
    """
    of = said.of
    if of is None:
        return said.start_line <= number <= said.end_line
    parameter = _PARAMETER.match(said.text)
    if parameter is not None and re.search(rf"(?<![\w$]){re.escape(parameter[1])}(?![\w$])", line) is None:
        return False
    last = of.head_line if of.has_members else of.end_line
    return of.start_line <= number <= last


def own_line(said: Sentence) -> tuple[int, str] | None:
    """Return the line that a comment documents, where it tells something by itself: `timeout = 120`."""
    if said.of is None or says_nothing(said.of.text):
        return None
    return said.of.head_line, said.of.text


def is_shown_with(said: Sentence, shown_first: int, shown_last: int) -> bool:
    """Return whether a sentence may stand above the lines that are shown: they are what it documents, or hold it."""
    first, last = said.start_line, said.end_line
    if said.of is not None:
        first, last = min(first, said.of.start_line), max(last, said.of.end_line)
    return first <= shown_last and shown_first <= last


def lines_about(said: Sentence, numbered: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the lines that may be told with a sentence."""
    return [(number, line) for number, line in numbered if is_about(said, number, line)]
