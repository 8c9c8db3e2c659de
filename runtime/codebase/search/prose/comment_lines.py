"""Tells lines of comments and documentation from lines of code, by marks that most languages share.

Lines may begin within a comment or a string that was opened above them, as those of a piece of a long function do; what
closes it must be known, since its closing quotes look like opening ones. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_TRAILING_LINES = 20

DOC_QUOTE = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|''')")
COMMENT = re.compile(r"\s*(?:///?!?|//|/\*\*?|\*/|\*(?=\s|$)|#+(?![!\[\w]|\.\s)|--+(?=\s)|;;+|<!--|-->)\s?")
_TRAILING_BLOCK = re.compile(r"[\w;,)}\]]\s+/\*(?:(?!\*/)[^\"'`])*$")
OPENING_MARKS = ("/*", '"""', "'''")
_QUOTES = ('"""', "'''")
# Strings in one line, and what stands behind a mark of comments, hold no quotes that open anything.
_TOKEN = re.compile(
    r"(?P<quotes>\"\"\"|''')|\\.|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|(?P<remark>(?<!\S)(?:#|//))", re.DOTALL
)


class OpenText(NamedTuple):
    """Holds what closes a comment or string that goes over lines, and whether its lines are no code."""

    closing: str
    is_comment: bool = True


def comment_lines(lines: Sequence[str], within: OpenText | None = None) -> list[bool]:
    """Mark the lines of code that are comments, or lie within a triple-quoted string that begins a line.

    What goes on with a comment that trails code is a comment, too; a string behind code is code. `within`: the comment
    or string in which the first line begins.
    """
    return [is_comment for _, is_comment in _states(lines, within)]


def open_at(lines: Sequence[str], place: int, within: OpenText | None = None) -> OpenText | None:
    """Return the comment or string in which a line begins; None if that is code. Positions count from 0."""
    return next((opened for at, (opened, _) in enumerate(_states(lines, within)) if at == place), None)


def opens_trailing_block(lines: Sequence[str], place: int) -> bool:
    """Return whether a line of code ends with the beginning of a block comment that a line soon below closes."""
    if "/*" not in lines[place] or not _TRAILING_BLOCK.search(lines[place]):
        return False
    below = lines[place + 1 : place + 1 + MAX_TRAILING_LINES]
    marks = next((line for line in below if "*/" in line or "/*" in line), "")
    return "*/" in marks and "/*" not in marks.partition("*/")[0]


def _states(lines: Sequence[str], within: OpenText | None) -> Iterator[tuple[OpenText | None, bool]]:
    """Yield for each line the comment or string in which it begins, and whether it is a comment."""
    opened = within
    last = {quotes: max((at for at, line in enumerate(lines) if quotes in line), default=-1) for quotes in _QUOTES}
    for place, line in enumerate(lines):
        before, stripped = opened, line.strip()
        if before is not None:
            behind = stripped.partition(before.closing)[2]
            opened = before if before.closing not in stripped else _opened_behind(behind, place, last)
            yield before, before.is_comment
            continue
        quoted = DOC_QUOTE.match(stripped)
        if quoted is not None:
            opened = OpenText(quoted.group(1)) if stripped.count(quoted.group(1)) == 1 else None
            yield None, True
            continue
        is_comment = COMMENT.match(line) is not None and not stripped.startswith("#!")
        if (stripped.startswith("/*") and "*/" not in stripped) or opens_trailing_block(lines, place):
            opened = OpenText("*/")
        elif not is_comment:
            opened = _opened_behind(line, place, last)
        yield None, is_comment


def _opened_behind(code: str, place: int, last: Mapping[str, int]) -> OpenText | None:
    """Return the string that code leaves open at the end of its line, if quotes of its kind follow in a later one."""
    opened = ""
    for token in _TOKEN.finditer(code) if any(quotes in code for quotes in _QUOTES) else ():
        quotes = token["quotes"]
        if token["remark"] and not opened:
            break
        if quotes and opened in {"", quotes}:
            opened = "" if opened else quotes
    return OpenText(opened, is_comment=False) if opened and place < last[opened] else None
