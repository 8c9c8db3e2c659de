"""Shortens the source of a function for a model: no docstring, of long source what can be extracted.

Lines that are left out are marked with their numbers, so that the others can be counted and these be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.context.models import ExtractionSuggestion

WHOLE_LINES = 60
MARGIN_LINES = 2
# Fewer lines cost about as much as the mark in their place.
LEAST_LEFT_OUT = 3
MAX_HEAD_LINES = 40

_HEAD_END = re.compile(r":\s*(?:#.*)?$")
_DOCSTRING = re.compile(r"\s*[rRuU]?(\"\"\"|''')")


def outlined(source: str, first_line: int, suggestions: Sequence[ExtractionSuggestion]) -> str:
    """Return the source with marks in the place of what is left out; `first_line` is the number of its first line.

    Left out are the docstring and, of more than WHOLE_LINES lines, those that lie further than MARGIN_LINES from every
    suggestion. Source without suggestions is shown whole but for the docstring.
    """
    lines = source.split("\n")
    head = _head_lines(lines)
    left_out = _docstring_lines(lines, head)
    if suggestions and len(lines) - len(left_out) > WHOLE_LINES:
        kept = set(range(head))
        for each in suggestions:
            start, end = each.start_line - first_line - MARGIN_LINES, each.end_line - first_line + MARGIN_LINES
            kept.update(range(max(0, start), min(len(lines), end + 1)))
        # The marks would stand for everything where the suggestions are of an older state of the file.
        if len(kept) > head:
            left_out |= set(range(len(lines))) - kept
    return "\n".join(_marked(lines, left_out, first_line))


def _head_lines(lines: Sequence[str]) -> int:
    """Return how many lines the signature has; 1 where its end is not found."""
    return next((number for number, line in enumerate(lines[:MAX_HEAD_LINES], 1) if _HEAD_END.search(line)), 1)


def _docstring_lines(lines: Sequence[str], head: int) -> set[int]:
    opening = _DOCSTRING.match(lines[head]) if head < len(lines) else None
    if opening is None:
        return set()
    quotes = opening[1]
    if quotes in lines[head][opening.end() :]:
        return set()
    end = next((number for number in range(head + 1, len(lines)) if quotes in lines[number]), None)
    return set() if end is None else set(range(head, end + 1))


def _marked(lines: Sequence[str], left_out: set[int], first_line: int) -> Iterator[str]:
    number = 0
    while number < len(lines):
        end = number
        while end < len(lines) and end in left_out:
            end += 1
        if end - number >= LEAST_LEFT_OUT:
            yield f"# ... lines {first_line + number}-{first_line + end - 1}"
            number = end
        else:
            yield from lines[number : max(end, number + 1)]
            number = max(end, number + 1)
