"""Groups the lines of documents and of comments into paragraphs that sentences do not leave.

Marks of comments, quotations and lists are left out; so are headings, rules, comments of HTML and the bodies of
directives that hold no prose. Examples and rows of tables are marked as such. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.search.prose.comment_lines import COMMENT, DOC_QUOTE, OpenText, comment_lines
from runtime.codebase.search.prose.markup import TROFF_MACRO

# What stands so much further left than the line above goes on with no paragraph.
LEAST_DEDENT = 2

_LINE_COMMENT_END = re.compile(r"\s*(?:\*/|-->)\s*$")
_QUOTATION = re.compile(r"^\s*(?:>\s?)+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|#\.|\.\. [\w:-]+::)\s+")
_ROW = re.compile(r"\s*\|")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}|={1,6})\s")
_UNDERLINE = re.compile(r"\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_RULE = re.compile(r"\s*(?:[-=~^*_#\"'`+|.:]{3,}[\s|+:-]*|\.\.(?:\s+(?![\w:-]+::\s+\S+\s+\S).*)?|@\w+)\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HIDDEN = re.compile(r"\s*<!--")
# What is said of one parameter: `@param name …`, `:param name: …`.
_FIELD = re.compile(r"\s*(?:@\w+\s|:\w[\w *.\[\]-]{0,60}:\s)")
# A directive whose body is no prose, and a paragraph that ends with the mark of an example.
_CODE_DIRECTIVE = re.compile(
    r"\s*\.\.\s+(?:code-block|code|sourcecode|literalinclude|parsed-literal|math|toctree|image|figure|testcode|doctest"
    r"|highlight|raw|include|csv-table|list-table|auto\w+)::"
)
DISABLES = re.compile(
    r"\b(?:noqa|nolint|eslint|pylint|type: ignore|prettier-ignore|SPDX|copyright|licen[cs]ed?|istanbul|rubocop)\b", re.I
)


class Line(NamedTuple):
    """Holds the bare text of a line, and its number."""

    number: int
    text: str


class Paragraph(NamedTuple):
    """Holds lines that sentences do not leave. `is_example`: in a fence or below a mark of one; `is_row`: of a table.

    `block`: the number of the comment, or of the prose between examples and headings, that it is part of.
    """

    lines: list[Line]
    is_example: bool = False
    is_row: bool = False
    block: int = 0


def bare(line: str) -> str:
    """Return a line without the marks of comments, documentation strings, quotations and lists."""
    text = COMMENT.sub("", line, count=1) if COMMENT.match(line) else line
    text = _LIST_MARK.sub("", _QUOTATION.sub("", _LINE_COMMENT_END.sub("", text)))
    return DOC_QUOTE.sub("", text).strip()


def passage_paragraphs(lines: Sequence[str], first_line: int, *, is_document: bool = True) -> list[Paragraph]:
    """Group the lines that stand together; list items, rows of tables and lines of examples begin a paragraph."""
    paragraphs = [Paragraph([])]
    block = 0
    layout = _Layout()
    for place, line in enumerate(lines):
        text = bare(line)
        kind = layout.kind_of(line) if is_document else "prose"
        is_heading = is_document and kind == "prose" and _is_heading(lines, place)
        if kind == "fence" or is_heading:
            block += 1
        if kind in {"fence", "hidden"} or is_heading or not text or _RULE.match(line) or TROFF_MACRO.match(line):
            paragraphs.append(Paragraph([], kind == "example", block=block))
            continue
        is_example = kind == "example"
        is_row = is_document and not is_example and _ROW.match(line) is not None
        is_other = is_row or paragraphs[-1].is_row or is_example != paragraphs[-1].is_example
        is_other = is_other or (
            is_document and place > 0 and indent_of(lines[place - 1]) - indent_of(line) >= LEAST_DEDENT
        )
        if is_other or _begins_item(line, is_document=is_document):
            paragraphs.append(Paragraph([], is_example, is_row, block))
        paragraphs[-1].lines.append(Line(first_line + place, text))
    return [paragraph for paragraph in paragraphs if paragraph.lines]


def comment_paragraphs(lines: Sequence[str], first_line: int, within: OpenText | None = None) -> list[Paragraph]:
    """Group the lines of comments and documentation strings that stand together, without notes to other programs.

    `within`: the comment or string in which the first line begins.
    """
    paragraphs = [Paragraph([])]
    block = 0
    for place, (line, is_prose) in enumerate(zip(lines, comment_lines(lines, within), strict=True)):
        block += not is_prose
        text = bare(line) if is_prose else ""
        if not text or _RULE.match(line) or DISABLES.search(line):
            paragraphs.append(Paragraph([], block=block))
            continue
        if _begins_item(line, is_document=False):
            paragraphs.append(Paragraph([], block=block))
        paragraphs[-1].lines.append(Line(first_line + place, text))
    return [paragraph for paragraph in paragraphs if paragraph.lines]


class _Layout:
    """Tracks which lines of a document are examples, hidden or prose."""

    def __init__(self) -> None:
        self._is_fenced = self._is_hidden = False
        self._directive = -1

    def kind_of(self, line: str) -> str:
        """Advance by a line and return its kind: `fence`, `example`, `hidden` or `prose`."""
        if _FENCE.match(line) and not self._is_hidden:
            self._is_fenced = not self._is_fenced
            return "fence"
        if self._is_fenced:
            return "example"
        if self._is_hidden or _HIDDEN.match(line):
            self._is_hidden = "-->" not in line
            return "hidden"
        indent = len(line) - len(line.lstrip())
        if line.strip() and 0 <= self._directive < indent:
            return "example"
        if line.strip():
            opens = _CODE_DIRECTIVE.match(line) or (line.rstrip().endswith("::") and not line.lstrip().startswith(".."))
            self._directive = indent if opens else -1
        return "prose"


def _begins_item(line: str, *, is_document: bool) -> bool:
    text = line if is_document else COMMENT.sub("", line, count=1)
    return _LIST_MARK.match(text) is not None or _FIELD.match(text) is not None


def _is_heading(lines: Sequence[str], place: int) -> bool:
    return _HEADING.match(lines[place]) is not None or (
        place + 1 < len(lines) and _is_underline(lines[place + 1], lines[place])
    )


def _is_underline(line: str, above: str) -> bool:
    """Return whether a line underlines a heading; a fence shorter than the line above it begins an example."""
    is_fence = _FENCE.match(line) is not None and len(line.strip()) < len(above.strip())
    return _UNDERLINE.match(line) is not None and not is_fence
