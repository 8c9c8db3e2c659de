"""Cuts a piece into windows of lines, each short enough to be read together with a question.

Windows overlap by half, so that few lines that belong together are apart in all of them. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

WINDOW_CHARS = 520
# The next window begins so many characters behind the beginning of one.
STEP_CHARS = 260
# A piece that is hardly longer is read whole.
SPARE_CHARS = 120
MAX_HEAD_CHARS = 200
# Of lines that are longer than a window a piece of 60 may have as many windows.
MAX_WINDOWS = 10
STEM_CHARS = 6

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]{2,}|[a-z]+")
_COMMON = frozenset(
    {
        *("the", "a", "an", "of", "to", "is", "are", "it", "in", "on", "and", "or", "how", "do", "does", "i", "what"),
        *("when", "where", "why", "which", "my", "if", "that", "this", "can", "for", "with", "be", "by", "from", "as"),
        *("not", "no", "its", "at", "there", "has", "have"),
    }
)


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
    """Return the window that shares most words with a question, the first of equals; ValueError for none."""
    asked = _stems(question)
    return max(windows, key=lambda window: len(_stems(window.text.partition("\n")[2]) & asked))


def _end(lines: Sequence[str], start: int, most: int) -> int:
    """Return the position behind the last line that fits, with those from `start` on, into so many characters."""
    end, chars = start + 1, len(lines[start]) + 1
    while end < len(lines) and chars + len(lines[end]) + 1 <= most:
        chars += len(lines[end]) + 1
        end += 1
    return end


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words in a text, those of names split, common ones left out."""
    return frozenset(word.lower()[:STEM_CHARS] for word in _WORD.findall(text)) - _COMMON
