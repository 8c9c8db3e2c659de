"""Chooses the few lines of a further place that an answer shows: those that tell most, in whole statements.

Pure functions; of one excerpt always the same lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence
from typing import NamedTuple

from actors.capabilities.code_analysis.ranking.line_kinds import deciding_lines
from runtime.codebase.files.source_text import indent_of
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpt_windows import balanced, best_window, is_cut, without_blanks
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.prose.comment_lines import comment_lines
from runtime.codebase.search.telling_lines import says_nothing

MAX_BLOCK_LINES = 10
# What is whole with so many more lines is shown whole, as is a branch.
MAX_MORE_LINES = 6
MIN_CODE_LINES = 2
# What opens something that is not shown, at the end, and what closes something that is not, at the beginning.
MOST_TRIMMED = 3
_OPENS = re.compile(r"(?:[:{(\[=]|=>|->|&&|\|\||\b(?:then|do|else|and|or))\s*$")
_CLOSES = re.compile(r"\s*(?:[)\]}]+[;,]?|end|fi|done|esac)\s*$")
# What a line weighs that shares most with the question, and one that decides something.
_QUOTED, _DECIDES = 1.0, 0.3


class Block(NamedTuple):
    """Holds the lines to show, with the numbers of the first and the last."""

    first: int
    last: int
    text: str


def block_of(excerpt: Excerpt, most: int = MAX_BLOCK_LINES) -> Block | None:
    """Return at most so many lines of an excerpt; None if fewer than two lines of code would be shown.

    A comment ahead of the code is left out: what it says is told in words. A few lines more are shown where they
    begin or end what is shown a part of.
    """
    numbered = _lines(excerpt)
    if not numbered:
        return None
    lines = [line for _, line in numbered]
    first, last = _chosen(lines, _weights(excerpt, numbered), most)
    first, last = without_blanks(lines, first, last)
    shown = lines[first : last + 1]
    code = sum(bool(line.strip()) and not prose for line, prose in zip(shown, comment_lines(shown), strict=True))
    if code < MIN_CODE_LINES or all(says_nothing(line) for line in shown if line.strip()):
        return None
    return Block(numbered[first][0], numbered[last][0], textwrap.dedent("\n".join(shown)))


def part_of(code: str, terms: Collection[str], most: int = MAX_BLOCK_LINES) -> str:
    """Return at most so many lines of shown code in a row, those with most terms of a question; «» if none has any.

    Comments count where no other line has a term.
    """
    lines = code.split("\n")
    found = [sorted(set(terms).intersection(index_terms(line).split())) for line in lines]
    words = [[] if is_prose else own for own, is_prose in zip(found, comment_lines(lines), strict=True)]
    words = words if any(words) else found
    if not any(words):
        return ""
    if len(lines) <= most + MAX_MORE_LINES:
        return code
    window = best_window(words, dict.fromkeys(terms, 1.0), 0, len(lines), most)
    first, last = without_blanks(lines, *trimmed(lines, *balanced(lines, *window, 0, len(lines), most)))
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def _lines(excerpt: Excerpt) -> list[tuple[int, str]]:
    """Return the lines to choose from with their numbers, without comments and blank lines ahead of the code."""
    if excerpt.body:
        return list(excerpt.body)
    lines = excerpt.text.split("\n")
    prose = comment_lines(lines, excerpt.within)
    ahead = next((at for at, line in enumerate(lines) if line.strip() and not prose[at]), len(lines))
    behind = [(excerpt.shown_end + number, line) for number, line in enumerate(excerpt.rest, 1)]
    return [*list(enumerate(lines, excerpt.shown_start))[ahead:], *behind]


def _weights(excerpt: Excerpt, numbered: Sequence[tuple[int, str]]) -> dict[int, float]:
    """Return what each line weighs, by its position."""
    text = "\n".join(line for _, line in numbered)
    first = numbered[0][0]
    decide = {number for run in deciding_lines(text, first) for number, _ in run}
    weights = {}
    for at, (number, _) in enumerate(numbered):
        weight = _QUOTED * (number in excerpt.quoted) + _DECIDES * (number in decide)
        if weight:
            weights[at] = weight
    return weights


def _chosen(lines: Sequence[str], weights: dict[int, float], most: int) -> tuple[int, int]:
    """Return the positions of the first and last line to show."""
    if len(lines) <= most + MAX_MORE_LINES:
        return 0, len(lines) - 1
    words = [[str(at)] if at in weights else [] for at in range(len(lines))]
    by_line = {str(at): weight for at, weight in weights.items()} or {"": 1.0}
    window = best_window(words, by_line, 0, len(lines), most)
    shown = balanced(lines, *window, 0, len(lines), most)
    if is_cut(lines, *shown):
        shown = balanced(lines, *window, 0, len(lines), most + MAX_MORE_LINES)
    return _with_branch(lines, *trimmed(lines, *shown), most + MAX_MORE_LINES)


def _with_branch(lines: Sequence[str], first: int, last: int, most: int) -> tuple[int, int]:
    """Return positions with the head of the branch that the lines begin within, and the rest of that, if these fit."""
    head = next((at for at in range(first - 1, -1, -1) if _is_outside(lines, at, first)), None)
    if head is not None and last - head < most:
        first = head
    end = last
    while end + 1 < len(lines) and (not lines[end + 1].strip() or indent_of(lines[end + 1]) > indent_of(lines[first])):
        end += 1
    if end + 1 < len(lines) and _CLOSES.match(lines[end + 1]) and indent_of(lines[end + 1]) == indent_of(lines[first]):
        end += 1
    return first, end if end - first < most else last


def _is_outside(lines: Sequence[str], at: int, place: int) -> bool:
    return bool(lines[at].strip()) and indent_of(lines[at]) < indent_of(lines[place])


def trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Return positions without lines at the ends that only close what is not shown, or open it: three of each."""
    begin, end = first, last
    while begin < min(end, first + MOST_TRIMMED) and (not lines[begin].strip() or _CLOSES.match(lines[begin])):
        begin += 1
    while end > max(begin, last - MOST_TRIMMED) and (not lines[end].strip() or _OPENS.search(lines[end])):
        end -= 1
    return begin, end
