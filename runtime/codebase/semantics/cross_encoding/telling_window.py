"""Cuts a piece to those of its lines that share most words with a question."""

from __future__ import annotations

import re

WINDOW_CHARS = 520
# A piece that is hardly longer is read whole.
SPARE_CHARS = 120
MAX_HEAD_CHARS = 200
STEM_CHARS = 6

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]{2,}|[a-z]+")
_COMMON = frozenset(
    {
        *("the", "a", "an", "of", "to", "is", "are", "it", "in", "on", "and", "or", "how", "do", "does", "i", "what"),
        *("when", "where", "why", "which", "my", "if", "that", "this", "can", "for", "with", "be", "by", "from", "as"),
        *("not", "no", "its", "at", "there", "has", "have"),
    }
)


def telling_window(question: str, text: str) -> str:
    """Return the first line of a piece's text, its path and name, and the lines that share most with a question.

    These are whole lines of at most 520 characters together, a longer one is cut; of equals the first. A text of at
    most 640 characters is returned whole.
    """
    if len(text) <= WINDOW_CHARS + SPARE_CHARS:
        return text
    head, _, body = text.partition("\n")
    if len(head) > MAX_HEAD_CHARS:
        head, body = "", text
    lines = body.split("\n")
    start = _best_start(lines, _stems(question))
    told = "\n".join(lines[start:])[:WINDOW_CHARS]
    return f"{head}\n{told}" if head else told


def _best_start(lines: list[str], asked: frozenset[str]) -> int:
    """Return where the window begins that has most of the stems."""
    shared = [_stems(line) & asked for line in lines]
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line) + 1)
    best, most = 0, -1
    stop = 0
    for start in range(len(lines)):
        stop = max(stop, start + 1)
        while stop < len(lines) and ends[stop + 1] - ends[start] <= WINDOW_CHARS:
            stop += 1
        found = len(frozenset[str]().union(*shared[start:stop]))
        if found > most:
            best, most = start, found
        if stop == len(lines):
            break
    return best


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words in a text, those of names split, common ones left out."""
    return frozenset(word.lower()[:STEM_CHARS] for word in _WORD.findall(text)) - _COMMON
