"""Cuts a piece into windows of lines, each short enough to be read together with a question.

Windows overlap by half, so that few lines that belong together are apart in all of them. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.words import index_terms, query_terms

WINDOW_CHARS = 520
# The next window begins so many characters behind the beginning of one.
STEP_CHARS = 260
# A piece that is hardly longer is read whole.
SPARE_CHARS = 120
MAX_HEAD_CHARS = 200
# Of lines that are longer than a window a piece of 60 may have as many windows.
MAX_WINDOWS = 10
# What a term that a window shares with the question counts beside the cosine of its terms, at most 1.
SHARED_TERM = 0.1


class Window(NamedTuple):
    """Holds the text of a window behind its piece's name, and the positions of its first and last line."""

    text: str
    first: int
    last: int


def windows_of(head: str, lines: Sequence[str]) -> list[Window]:
    """Return the windows of a piece in order, at most ten; the only one of a piece that is hardly longer than one.

    `head`: the path and the name of the piece, which stands above each, cut to 200 characters. The lines of a window
    have at most 520 characters together; a longer line is cut.
    """
    head = head[:MAX_HEAD_CHARS]
    if len(head) + sum(len(line) + 1 for line in lines) <= WINDOW_CHARS + SPARE_CHARS:
        return [Window("\n".join((head, *lines)), 0, max(0, len(lines) - 1))]
    found: list[Window] = []
    start = 0
    while len(found) < MAX_WINDOWS:
        end = _end(lines, start, WINDOW_CHARS)
        text = "\n".join(lines[start:end])[:WINDOW_CHARS]
        found.append(Window(f"{head}\n{text}", start, end - 1))
        if end >= len(lines):
            break
        start = max(start + 1, _end(lines, start, STEP_CHARS))
    return found


def most_telling(question: str, windows: Sequence[Window]) -> Window:
    """Return the window whose terms are most like a question's and shared with it, the first of equals.

    ValueError for none.
    """
    from runtime.codebase.term_meaning.term_vectors import cosines, term_vectors

    asked = query_terms(question).counts
    terms = [index_terms(window.text.partition("\n")[2]) for window in windows]
    vectors = term_vectors()
    vector = vectors.of_question(asked)
    alike = [0.0] * len(windows)
    if vector is not None:
        alike = cosines(vectors.of_pieces([(own, "", "", "") for own in terms]), vector).tolist()
    worth = [
        cosine + SHARED_TERM * len(asked.keys() & set(own.split())) for cosine, own in zip(alike, terms, strict=True)
    ]
    return windows[max(range(len(windows)), key=worth.__getitem__)]


def _end(lines: Sequence[str], start: int, most: int) -> int:
    """Return the position behind the last line that fits, with those from `start` on, into so many characters."""
    end, chars = start + 1, len(lines[start]) + 1
    while end < len(lines) and chars + len(lines[end]) + 1 <= most:
        chars += len(lines[end]) + 1
        end += 1
    return end
