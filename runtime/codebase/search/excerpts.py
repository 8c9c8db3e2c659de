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
from runtime.codebase.search.prose_paragraphs import comment_lines
from runtime.codebase.search.sentences import Sentence, best_quote

MAX_SPAN_LINES = 24
MAX_SHOWN_LINES = 20
MAX_QUOTED = 2
MAX_LINE_CHARS = 400
# What a repeated word adds, of what it adds the first time; what each further line costs, of an average word.
REPEAT_SHARE = 0.15
LINE_COST = 0.03
# What a word that is nowhere in the repository weighs, of a word that is in one piece alone.
UNKNOWN_WEIGHT = 0.5
BALANCING_LINES = 16
MOST_LEFT_OUT = 3

_OPEN, _CLOSE = "([{", ")]}"
# What leaves a statement open at the end of a line: its body, an operand or an argument follows.
_LEAVES_OPEN = re.compile(r"(?:[:{(\[,=+*/&|\\?]|=>|->|\b(?:then|do|else|return|and|or|not|in))\s*$")
# In some languages the cases stand as far to the left as what begins them.
_CASES = re.compile(r"\s*(?:case|switch|select|match)\b[^:;]*$")
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|;)")
_TEXT_MARK = re.compile(r'"""|\'\'\'')
_CONTINUES = re.compile(r"\s*(?:[)\]}.,?:&|+*/=<>]|else\b|elif\b|except\b|finally\b|catch\b|and\b|or\b)")
_NO_CONTENT = re.compile(r"[\W_]*$")
# Lines of keywords alone.
_TRIVIAL = re.compile(r"\s*(?:try|else|finally|do|return|break|continue|pass|begin|end|then|this|self|default)?[\W_]*$")
# Lines that tell little by themselves: what is imported, logged, or declared without a body.
_BARE = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|use\s+[\w:\\{]|using\s|require(?:_once|_relative)?\b|#\s*include\b"
    r"|package\s|namespace\s|export\s+\*|(?:const|let|var)\s.{1,80}=\s*require\("
    r"|@\w|(?:\w+(?:\.|->|::))*(?:_?log(?:ger|ging)?|LOG(?:GER|_\w+)?|console|slog|debug|warn(?:ing)?|trace)s?"
    r"(?:\.\w+)?!?\("
    r"|(?:(?:public|private|protected|internal|static|final|async|export|default|pub(?:\([^)]*\))?|override|virtual"
    r"|inline|abstract|extern|unsafe|const)\s+)*(?:def|fn|func|function|class|struct|interface|trait|impl|enum|module)\b"
    r"[^=]*$"
    r"|(?:public|private|protected|internal)\s[^=;]*\([^=;]*$)"
)


class Excerpt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the chosen lines of a place; line numbers are inclusive and count from 1 in the file.

    `shown_start` to `shown_end` lie within the span, `text` holds them, lines of code before comments and docstrings;
    `quoted` are the numbers of the most telling lines, at most four, `quotes` those lines, stripped. Lines are
    verbatim, cut at 400 characters. `share`: the part of the question's weight that the span covers, 0 to 1. `said`:
    the sentence of a comment, docstring or document, anywhere in the place, that speaks most of it.
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
    quoted = _telling(cut, of_code, weights, start, end)
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
    """Widen a window, up to `most` lines, to whole statements.

    It then begins with one, closes the brackets and texts that it opens, and does not end ahead of what its last line
    begins.
    """
    for _ in range(BALANCING_LINES):
        if start > low and end - start + 1 < most and _begins_within(lines, start):
            start -= 1
    last = end
    for _ in range(BALANCING_LINES):
        if not _ends_within(lines, start, end) or end + 1 >= high or end - start + 1 >= most:
            break
        end += 1
    if not _ends_within(lines, start, end):
        return start, end
    # What is too long to be shown whole is left out, with at most three of the lines that were chosen.
    shorter = range(end, max(start, last - MOST_LEFT_OUT) - 1, -1)
    return start, next((at for at in shorter if not _ends_within(lines, start, at)), end)


def _begins_within(lines: Sequence[str], start: int) -> bool:
    """Return True if a line goes on with the statement of the line above it, which opens no block."""
    if _CONTINUES.match(lines[start]):
        return True
    above = lines[start - 1].rstrip()
    return not _COMMENT.match(above) and not above.endswith((":", "{")) and _LEAVES_OPEN.search(above) is not None


def _ends_within(lines: Sequence[str], start: int, end: int) -> bool:
    """Return True if lines end within a bracket, a text of several lines, or ahead of what the last one begins."""
    window = lines[start : end + 1]
    if _left_open(window) or len(_TEXT_MARK.findall("\n".join(window))) % 2:
        return True
    last = next((line for line in reversed(window) if line.strip()), "")
    following = next((line for line in lines[end + 1 :] if line.strip()), "")
    if _COMMENT.match(last):
        return bool(lines[end].strip()) and end + 1 < len(lines) and bool(lines[end + 1].strip())
    is_deeper = bool(following) and _indent(following) > _indent(last) and bool(last.strip())
    return (
        is_deeper
        or following.lstrip().startswith("{")
        or _LEAVES_OPEN.search(last) is not None
        or _CASES.match(last) is not None
    )


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


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
    lines: Sequence[str], words: Sequence[Sequence[str]], weights: Mapping[str, float], start: int, end: int
) -> list[int]:
    """Return the positions of the lines that together cover most of the question, in order, at most two.

    Behind one that begins something stands the line that goes on with it: a condition tells little without its outcome.
    """
    chosen: list[int] = []
    covered: set[str] = set()
    for _ in range(MAX_QUOTED):
        best = _best_line(lines, words, weights, range(start, end + 1), covered)
        if best is None or best in chosen:
            break
        chosen.append(best)
        covered |= set(words[best])
    if not chosen:
        chosen = [place for place in range(start, end + 1) if not _NO_CONTENT.match(lines[place])][:1]
    outcomes = (_outcome(lines, place, end) for place in chosen)
    return sorted({*chosen, *(place for place in outcomes if place is not None)})


def _outcome(lines: Sequence[str], place: int, end: int) -> int | None:
    """Return the position of the first line of what a line of code begins; None where it is whole by itself."""
    if _COMMENT.match(lines[place]) or not _LEAVES_OPEN.search(lines[place]):
        return None
    following = range(place + 1, end + 1)
    return next((at for at in following if not (_NO_CONTENT.match(lines[at]) or _COMMENT.match(lines[at]))), None)


def _best_line(
    lines: Sequence[str],
    words: Sequence[Sequence[str]],
    weights: Mapping[str, float],
    places: range,
    covered: Collection[str],
) -> int | None:
    gains = {place: sum(weights[term] for term in set(words[place]) - set(covered)) for place in places}
    useful = [place for place in places if gains[place] > 0 and not _TRIVIAL.match(lines[place])]
    telling = [place for place in useful if not _BARE.match(lines[place])]
    # Where nothing else speaks of the question, an import or a signature does.
    useful = telling if telling or covered else useful
    return max(useful, key=lambda place: (gains[place], -place), default=None)
