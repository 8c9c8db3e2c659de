"""Finds the paragraphs of prose at the beginning of a document.

The document is Markdown, reStructuredText or plain text. Headings, badges, pictures, HTML, tables, lists, examples,
field lists, directives and admonitions are no prose. Every paragraph carries its lines and the headings above it.
Pure functions; time is linear in the lines read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A document that says what it is about later than this does not say it at its head.
MAX_LINES = 600
MAX_PARAGRAPHS = 40
MAX_LINE_CHARS = 2_000

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_ATX = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\s*$")
_ADOC = re.compile(r"(={1,6})\s+(\S.*)$")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\s*(?:\.\.(?:\s|$)|:[\w-]+:(?:\s|$)|\[[^\]]+\]:\s|\[\^|---+\s*$|\+\+\+|%%)")
_MARKUP = re.compile(
    r"\s*(?:<(?!(?:i|b|em|strong)>)/?[a-zA-Z!?]|!\[|\[!\[|\[\]\(|\||\{[%{#:]|:::|\|[\w-]+\||&nbsp;|export |import )"
)
_LIST = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|[a-z]\)\s)")
_QUOTE = re.compile(r"\s{0,3}>\s?")
_ADMONITION = re.compile(
    r"\W*(?:\[!\w+\]|note|warning|caution|important|attention|tip|disclaimer|deprecat\w*|notice|heads[- ]up|update"
    r"|announcement|news)\b\W{0,3}(?::|\]|$|\*\*|!)",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[[^\]\[]*\](?:\([^)]*\)|\[[^\]]*\])?|`[^`<]*<[^`>]*>`_*|\|[\w -]+\||https?://\S+")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Holds consecutive lines of prose; `headings`: those above it, outermost first."""

    start_line: int
    lines: tuple[str, ...]
    headings: tuple[str, ...]


def paragraphs(lines: Sequence[str]) -> Iterator[Paragraph]:
    """Yield the paragraphs of prose in the first 600 lines, at most 40."""
    above: list[tuple[int, str]] = []
    underlines: list[str] = []
    held: list[str] = []
    start = count = 0
    for number, line in _outside_examples(lines[:MAX_LINES]):
        heading, before = _heading(lines, number, underlines), above
        if heading is not None:
            level, title = heading
            above = [*(kept for kept in above if kept[0] < level), (level, title)]
        is_prose = heading is None and _is_prose(line, is_first=not held) and not _is_rule_of_heading(lines, number)
        if held and (not is_prose or start + len(held) != number):
            yield Paragraph(start, tuple(held), _titles(above if heading is None else before))
            held, count = [], count + 1
            if count == MAX_PARAGRAPHS:
                return
        if is_prose:
            start = start if held else number
            held.append(line[:MAX_LINE_CHARS])
    if held:
        yield Paragraph(start, tuple(held), _titles(above))


def title_of(lines: Sequence[str]) -> str:
    """Return the heading that stands above the whole document: the first one, if no other is of its rank or above."""
    found = list(_ranked_headings(lines))
    return found[0][2] if found and all(level > found[0][1] for _, level, _ in found[1:]) else ""


def headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each heading in the first 600 lines."""
    for number, _, title in _ranked_headings(lines):
        yield number, title


def _ranked_headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    underlines: list[str] = []
    for number, _ in _outside_examples(lines[:MAX_LINES]):
        heading = _heading(lines, number, underlines)
        if heading is not None:
            yield number, *heading


def _titles(headings: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in headings)


def _outside_examples(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines outside front matter, examples, comments, HTML blocks, lists and directives."""
    inside = _Inside()
    closing = next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() == "---"), 0) if lines else 0
    first = closing + 1 if lines and lines[0].rstrip() == "---" else 1
    for number, line in enumerate(lines[first - 1 :], first):
        if not inside.leaves_out(line):
            yield number, line


class _Inside:
    """Tracks the block that the present line of a document belongs to."""

    def __init__(self) -> None:
        self._fenced = self._commented = self._block = self._paragraph = False
        self._directive = -1

    def leaves_out(self, line: str) -> bool:
        """Advance by a line and return whether it belongs to no paragraph and is no heading."""
        if _FENCE.match(line):
            self._fenced = not self._fenced
            return True
        if self._commented or "<!--" in line:
            self._commented = "-->" not in line
            return True
        if self._fenced:
            return True
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            self._block = self._paragraph = False
            return False
        if 0 <= self._directive < indent:
            return True
        self._directive = indent if line.lstrip().startswith("..") else -1
        self._block = self._block or _MARKUP.match(line) is not None or _LIST.match(line) is not None
        # An indented line goes on with a paragraph, and begins none.
        self._paragraph = not self._block and (self._paragraph or indent == 0)
        return not self._paragraph


def _heading(lines: Sequence[str], number: int, underlines: list[str]) -> tuple[int, str] | None:
    """Return level and text of the heading on a line; `underlines` collects the marks in their order."""
    line = lines[number - 1]
    found = _ATX.match(line) or _ADOC.match(line)
    if found is not None:
        return len(found.group(1)), found.group(2)
    below = lines[number] if number < len(lines) else ""
    ruled = _UNDERLINE.match(below)
    is_title = line.strip() and _LETTER.search(line) and not _UNDERLINE.match(line) and not _LIST.match(line)
    if ruled is None or not is_title or _MARKUP.match(line):
        return None
    above = lines[number - 2] if number > 1 else ""
    if above.lstrip().startswith(("|", "+-")):
        return None
    mark = ruled.group(1)
    if mark not in underlines:
        underlines.append(mark)
    return underlines.index(mark) + 1, line.strip()


def _is_rule_of_heading(lines: Sequence[str], number: int) -> bool:
    return _UNDERLINE.match(lines[number - 1]) is not None


def _is_prose(line: str, *, is_first: bool) -> bool:
    """Return whether a line is prose, the first or a further one of its paragraph."""
    if not _LETTER.search(line):
        return False
    told = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else line
    if any(pattern.match(told) for pattern in (_DIRECTIVE, _MARKUP, _LIST, _ADMONITION)):
        return False
    # A row of links is no sentence, but it may go on with one.
    return not is_first or _LETTER.search(_LINK.sub("", told[:MAX_LINE_CHARS])) is not None
