"""Chooses the lines of a found place to cite, to show and to quote for a question.

A span covers as many of the question's informative words as it can in few lines; it never starts or ends within a
bracket if it can avoid it. Pure functions; the same lines and weights always give the same choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.sentences import Sentence, best_quote, comment_lines
from runtime.codebase.search.telling_lines import says_nothing

MAX_SPAN_LINES = 24
MAX_SHOWN_LINES = 10
MAX_QUOTED = 2
MAX_LINE_CHARS = 400
# What a repeated word adds, of what it adds the first time; what each further line costs, of an average word.
REPEAT_SHARE = 0.15
LINE_COST = 0.03
# What a word that is nowhere in the repository weighs, of a word that is in one piece alone.
UNKNOWN_WEIGHT = 0.5
BALANCING_LINES = 4

_OPEN, _CLOSE = "([{", ")]}"
_CONTINUES = re.compile(r"\s*(?:[)\]}.,?:&|+*/=<>]|else\b|elif\b|except\b|finally\b|catch\b|and\b|or\b)")
_NO_CONTENT = re.compile(r"[\W_]*$")


class Excerpt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the chosen lines of a place; line numbers are inclusive and count from 1 in the file.

    `shown_start` to `shown_end` lie within the span, `text` holds them, lines of code before comments and docstrings;
    `quoted` are the numbers of the most telling lines, `quotes` those lines, stripped; of code, neither comments nor
    imports nor bare signatures, so that there may be none. Lines are verbatim, cut at 400 characters. `share`: the part of the question's weight that the span covers, 0
    to 1. `said`: the sentence of a comment, docstring or document, anywhere in the place, that speaks most of it.
    """

    start_line: int
    end_line: int
    shown_start: int
    shown_end: int
    text: str
    quoted: tuple[int, ...] = ()
    quotes: tuple[str, ...] = ()
    share: float = 0.0
    said: Sentence | None = None


def informative_terms(index: IndexReader, question: str) -> dict[str, float]:
    """Return the terms of a question with their weights: rare ones weigh more, those that are nowhere half of that.

    Many words of a question are nowhere in code, and few of these say that it is about something else.
    """
    counts = query_terms(question).counts
    known = index.document_counts(list(counts))
    total = max(1, index.chunk_count())
    return {
        term: math.log(1 + total / known[term]) if known.get(term) else UNKNOWN_WEIGHT * math.log(1 + total)
        for term in counts
    }


def excerpt_of(
    lines: Sequence[str], first_line: int, weights: Mapping[str, float], *, is_document: bool = False
) -> Excerpt:
    """Choose from the lines of a place, at least one; `first_line` is the number of the first."""
    cut = [line[:MAX_LINE_CHARS] for line in lines]
    words = [[term for term in index_terms(line).split() if term in weights] for line in cut]
    start, end = (0, len(cut) - 1)
    if len(cut) > MAX_SPAN_LINES:
        start, end = _window(words, weights, 0, len(cut), MAX_SPAN_LINES)
        start, end = _balanced(cut, start, end, 0, len(cut), MAX_SPAN_LINES)
    of_code = words if is_document else _without_prose(cut, words, start, end)
    first, last = _window(of_code, weights, start, end + 1, MAX_SHOWN_LINES)
    first, last = _balanced(cut, first, last, start, end + 1, MAX_SHOWN_LINES)
    first, last = _without_blanks(cut, first, last)
    telling = [is_document or not (prose or says_nothing(line)) for line, prose in zip(cut, comment_lines(cut), strict=True)]
    quoted = _telling(cut, of_code, weights, [place for place in range(start, end + 1) if telling[place]])
    covered = {term for found in words[start : end + 1] for term in found}
    whole = sum(weights.values())
    return Excerpt(
        first_line + start,
        first_line + end,
        first_line + first,
        first_line + last,
        "\n".join(cut[first : last + 1]),
        tuple(first_line + place for place in quoted),
        tuple(cut[place].strip() for place in quoted),
        round(sum(weights[term] for term in covered) / whole, 4) if whole else 0.0,
        best_quote(lines, first_line, weights, is_document=is_document),
    )


def _window(
    words: Sequence[Sequence[str]], weights: Mapping[str, float], low: int, high: int, most: int
) -> tuple[int, int]:
    """Return the first and last position, within low to high (exclusive), of the window that covers most."""
    cost = LINE_COST * (sum(weights.values()) / len(weights) if weights else 1.0)
    best, chosen = -1.0, (low, min(high, low + most) - 1)
    for start in range(low, high):
        if not words[start]:
            continue
        seen: set[str] = set()
        gained = 0.0
        for end in range(start, min(high, start + most)):
            for term in words[end]:
                gained += weights[term] * (REPEAT_SHARE if term in seen else 1.0)
                seen.add(term)
            if words[end] and gained - cost * (end - start) > best:
                best, chosen = gained - cost * (end - start), (start, end)
    return chosen


def _without_prose(
    lines: Sequence[str], words: Sequence[Sequence[str]], start: int, end: int
) -> Sequence[Sequence[str]]:
    """Return the words of the lines of code; all words where those lines have none of the question's."""
    is_prose = comment_lines(lines)
    of_code = [[] if prose else found for found, prose in zip(words, is_prose, strict=True)]
    return of_code if any(of_code[start : end + 1]) else words


def _balanced(lines: Sequence[str], start: int, end: int, low: int, high: int, most: int) -> tuple[int, int]:
    """Widen a window, up to `most` lines, until it begins with a statement and closes the brackets that it opens."""
    for _ in range(BALANCING_LINES):
        if start > low and end - start + 1 < most and _CONTINUES.match(lines[start]):
            start -= 1
    for _ in range(BALANCING_LINES):
        if not _left_open(lines[start : end + 1]) or end + 1 >= high or end - start + 1 >= most:
            break
        end += 1
    return start, end


def _left_open(lines: Sequence[str]) -> int:
    """Return the number of brackets that lines open and do not close; what closes earlier ones does not count."""
    depth = 0
    for mark in "".join(lines):
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth = max(0, depth - 1)
    return depth


def _without_blanks(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end].strip():
        end -= 1
    return start, end


def _telling(
    lines: Sequence[str], words: Sequence[Sequence[str]], weights: Mapping[str, float], places: Sequence[int]
) -> list[int]:
    """Return those of the places whose lines together cover most of the question, in order, at most two."""
    chosen: list[int] = []
    covered: set[str] = set()
    for _ in range(MAX_QUOTED):
        best = _best_line(lines, words, weights, places, covered)
        if best is None or best in chosen:
            break
        chosen.append(best)
        covered |= set(words[best])
    if not chosen:
        chosen = [place for place in places if not _NO_CONTENT.match(lines[place])][:1]
    return sorted(chosen)


def _best_line(
    lines: Sequence[str],
    words: Sequence[Sequence[str]],
    weights: Mapping[str, float],
    places: Sequence[int],
    covered: Collection[str],
) -> int | None:
    gains = {place: sum(weights[term] for term in set(words[place]) - set(covered)) for place in places}
    useful = [place for place in places if gains[place] > 0 and not _NO_CONTENT.match(lines[place])]
    return max(useful, key=lambda place: (gains[place], -place), default=None)
