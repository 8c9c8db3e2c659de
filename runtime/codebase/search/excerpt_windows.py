"""Finds windows of lines that cover most of a question, made of whole statements and branches.

Positions count from 0; the last one of a window is inclusive. Pure functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.search.statements import Statements

# What a repeated word adds, of what it adds the first time; what each further line costs, of an average word.
REPEAT_SHARE = 0.15
LINE_COST = 0.03
BALANCING_LINES = 16
MOST_LEFT_OUT = 3
# Another line of the span is shown as well if it covers so much of what the window's best line does.
AS_TELLING = 0.75

Words = Sequence[Sequence[str]]

_OPEN = "([{"
_BRACKET = re.compile(r"[()\[\]{}]")
# What leaves a statement open at the end of a line: its body, an operand or an argument follows.
_LEAVES_OPEN = re.compile(r"(?:[:{(\[,=+*/&|\\?]|=>|->|\b(?:then|do|else|return|and|or|not|in))\s*$")
# In some languages the cases stand as far to the left as what begins them.
_CASES = re.compile(r"\s*(?:case|switch|select|match)\b[^:;]*$")
_COMMENT = re.compile(r"\s*(?:#(?![\w!\[])|//|/?\*|--|;)")
_BEGINS_COMMENT = re.compile(r"\s*(?:/[/*]|#(?![\w!\[])|--\s|;)")
_TEXT_MARK = re.compile(r'"""|\'\'\'')
_CONTINUES = re.compile(r"\s*(?:[)\]}.,?:&|+*/=<>]|else\b|elif\b|except\b|finally\b|catch\b|and\b|or\b)")


def leaves_open(line: str) -> bool:
    """Return whether something that a line begins follows it: a body, an operand, an argument."""
    return _LEAVES_OPEN.search(line) is not None


def best_window(words: Words, weights: Mapping[str, float], low: int, high: int, most: int) -> tuple[int, int]:
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


def grown(
    statements: Statements, words: Words, weights: Mapping[str, float], window: tuple[int, int], low: int, most: int
) -> tuple[int, int]:
    """Widen a window, from `low` on and up to `most` lines, to what decides with it.

    These are the comment of its first statement, the heads of the branch that it lies in, and other lines that speak of
    the question as much as its best one does, as in the other branch. What does not fit is left out.
    """
    start, end = window
    best = max((_weight(words[at], weights) for at in range(start, end + 1)), default=0.0)
    last = len(words) - 1
    for at in sorted(range(low, last + 1), key=lambda at: min(abs(at - start), abs(at - end))):
        is_as_telling = best > 0 and _weight(words[at], weights) >= AS_TELLING * best
        if is_as_telling and max(end, at) - min(start, at) + 1 <= most:
            start, end = min(start, at), max(end, at)
    below = statements.comment_below(end)
    if below <= last and below - start + 1 <= most:
        end = below
    above = statements.comment_above(start)
    if low <= above and end - above + 1 <= most:
        start = above
    for _ in range(2):
        head = statements.branch_head(start)
        if head is None or head < low or end - head + 1 > most:
            break
        start = head
    return start, end


def _weight(words: Sequence[str], weights: Mapping[str, float]) -> float:
    return math.fsum(weights[word] for word in set(words))


def balanced(lines: Sequence[str], start: int, end: int, low: int, high: int, most: int) -> tuple[int, int]:
    """Widen a window, up to `most` lines, to whole statements.

    It then begins with one, closes the brackets and texts that it opens, and does not end ahead of what its last line
    begins.
    """
    for _ in range(BALANCING_LINES):
        if start > low and end - start + 1 < most and _begins_within(lines, start):
            start -= 1
    last = end
    for _ in range(BALANCING_LINES):
        if not is_cut(lines, start, end) or end + 1 >= high or end - start + 1 >= most:
            break
        end += 1
    if not is_cut(lines, start, end):
        return start, end
    # What is too long to be shown whole is left out, with at most three of the lines that were chosen.
    shorter = range(end, max(start, last - MOST_LEFT_OUT) - 1, -1)
    return start, next((at for at in shorter if not is_cut(lines, start, at)), end)


def _begins_within(lines: Sequence[str], start: int) -> bool:
    """Return True if a line goes on with the statement of the line above it, which opens no block."""
    if _BEGINS_COMMENT.match(lines[start]):
        return False
    if _CONTINUES.match(lines[start]):
        return True
    above = lines[start - 1].rstrip()
    if above.endswith(","):
        return not _is_member(lines, start)
    return not _COMMENT.match(above) and not above.endswith((":", "{")) and leaves_open(above)


def _is_member(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is a member of what a brace, a square bracket or a colon above opens: one by itself."""
    own = indent_of(lines[place])
    outer = (lines[at] for at in range(place - 1, -1, -1) if lines[at].strip() and indent_of(lines[at]) < own)
    return next(outer, "").rstrip().endswith(("{", "[", ":", "|"))


def is_cut(lines: Sequence[str], start: int, end: int) -> bool:
    """Return True if lines end within a bracket, a text of several lines, or ahead of what the last one begins."""
    window = lines[start : end + 1]
    if _left_open(window) or len(_TEXT_MARK.findall("\n".join(window))) % 2:
        return True
    last = next((line for line in reversed(window) if line.strip()), "")
    following = next((line for line in lines[end + 1 :] if line.strip()), "")
    if _COMMENT.match(last):
        return bool(lines[end].strip()) and end + 1 < len(lines) and bool(lines[end + 1].strip())
    is_deeper = bool(following) and indent_of(following) > indent_of(last) and bool(last.strip())
    # Members of one thing end with commas, and each is whole by itself.
    last = last.rstrip().removesuffix(",")
    return is_deeper or following.lstrip().startswith("{") or leaves_open(last) or _CASES.match(last) is not None


def _left_open(lines: Sequence[str]) -> int:
    """Return the number of brackets that lines open and do not close; what closes earlier ones does not count."""
    depth = 0
    for mark in _BRACKET.findall("\n".join(lines)):
        depth = depth + 1 if mark in _OPEN else max(0, depth - 1)
    return depth


def without_blanks(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end].strip():
        end -= 1
    return start, end
