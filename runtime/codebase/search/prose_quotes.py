"""Quotes the sentence of a document, comment or docstring that speaks most of a question.

Comment marks, heading marks and list marks are not part of a sentence; white space counts as one blank. `holds` checks
a quote against lines in the same way. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from runtime.codebase.files.words import index_terms

MAX_QUOTE_CHARS = 320
MIN_WORDS = 4
# A sentence must cover this share of the question's weight to be worth quoting.
MIN_SHARE = 0.12
# What a further word of a sentence costs, of the question's weight.
WORD_COST = 0.002

_DOC_QUOTE = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|''')")
_COMMENT = re.compile(r"\s*(?:///?!?|//|/\*\*?|\*/|\*(?=\s|$)|#+(?![!\[\w])|--+(?=\s)|;;+|<!--|-->)\s?")
_LINE_COMMENT_END = re.compile(r"\s*(?:\*/|-->)\s*$")
_LIST_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?:])[\"')\]]*\s+(?=[\"'(\[`*A-Z@])")
_RULE = re.compile(r"\s*(?:[-=~^*_#\"+|]{3,}[\s|+-]*|\.\. .*|```.*|~~~.*|@\w+)\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DISABLES = re.compile(
    r"\b(?:noqa|nolint|eslint|pylint|type: ignore|prettier-ignore|SPDX|copyright|licen[cs]ed?|istanbul|rubocop)\b", re.I
)
# A comment that neither begins like a sentence nor ends like one is a note: «the rest of it».
_SENTENCE = re.compile(r"[\"'(\[`*@]*[A-Z0-9]|.*[.!?:][\"')\]`*]*$", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class ProseQuote(msgspec.Struct, frozen=True):
    """Holds a sentence and the first and last of its lines, inclusive, from 1; `share` of the question's weight.

    `line`: its first line as it stands in the file, stripped.
    """

    text: str
    start_line: int
    end_line: int
    share: float
    line: str = ""


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: str


def best_quote(
    lines: Sequence[str], first_line: int, weights: Mapping[str, float], *, is_document: bool
) -> ProseQuote | None:
    """Return the sentence that covers most of the question, the first of equals; None where none is worth it."""
    whole = sum(weights.values())
    best: ProseQuote | None = None
    best_gain = MIN_SHARE
    if not whole:
        return None
    for paragraph in _paragraphs(lines, first_line, is_document=is_document):
        for text, start, end in _sentences(paragraph):
            is_note = not is_document and not _SENTENCE.match(text)
            if is_note or len(_LETTERS.findall(text)) < MIN_WORDS or _DISABLES.search(text):
                continue
            covered = weights.keys() & set(index_terms(text).split())
            share = sum(weights[term] for term in covered) / whole
            gain = share - WORD_COST * len(text.split())
            if gain > best_gain:
                line = lines[start - first_line].strip()[:MAX_QUOTE_CHARS]
                best, best_gain = ProseQuote(text, start, end, round(share, 4), line), gain
    return best


def holds(lines: Sequence[str], quote: str) -> bool:
    """Return whether lines hold a quote, comment marks, list marks and white space aside."""
    return bool(quote.strip()) and _flat(quote) in _flat(" ".join(map(_bare, lines)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _bare(line: str) -> str:
    """Return a line without the marks of comments, docstrings and lists."""
    text = _COMMENT.sub("", line, count=1) if _COMMENT.match(line) else line
    text = _LINE_COMMENT_END.sub("", text)
    text = _LIST_MARK.sub("", text, count=1) if _LIST_MARK.match(text) else text
    return _DOC_QUOTE.sub("", text).strip()


def _paragraphs(lines: Sequence[str], first_line: int, *, is_document: bool) -> list[list[_Line]]:
    """Group the prose lines that stand together; a list entry begins a paragraph of its own."""
    paragraphs: list[list[_Line]] = [[]]
    prose = _document_lines(lines) if is_document else comment_lines(lines)
    for place, line in enumerate(lines):
        is_note = not is_document and _DISABLES.search(line) is not None
        if not prose[place] or is_note or not line.strip() or _RULE.match(line) or not _bare(line):
            paragraphs.append([])
            continue
        if _LIST_MARK.match(line if is_document else _COMMENT.sub("", line, count=1)):
            paragraphs.append([])
        paragraphs[-1].append(_Line(first_line + place, _bare(line)))
    return [paragraph for paragraph in paragraphs if paragraph]


def _document_lines(lines: Sequence[str]) -> list[bool]:
    """Mark the lines of a document outside fenced code and tables."""
    marked, is_fenced = [], False
    for line in lines:
        if _FENCE.match(line):
            is_fenced = not is_fenced
            marked.append(False)
        else:
            is_heading = line.lstrip().startswith("#")
            marked.append(not is_fenced and not is_heading and not line.lstrip().startswith("|"))
    return marked


def comment_lines(lines: Sequence[str]) -> list[bool]:
    """Mark the lines of code that are comments, or lie within a triple-quoted string that begins a line."""
    marked: list[bool] = []
    closing: str | None = None
    in_block = False
    for line in lines:
        stripped = line.strip()
        if closing is not None:
            marked.append(True)
            closing = None if closing in stripped else closing
            continue
        if in_block:
            marked.append(True)
            in_block = "*/" not in stripped
            continue
        opened = _DOC_QUOTE.match(stripped)
        if opened is not None:
            marked.append(True)
            closing = opened.group(1) if stripped.count(opened.group(1)) == 1 else None
            continue
        in_block = stripped.startswith("/*") and "*/" not in stripped
        marked.append(_COMMENT.match(line) is not None and not stripped.startswith("#!"))
    return marked


def _sentences(paragraph: Sequence[_Line]) -> list[tuple[str, int, int]]:
    """Split a paragraph into sentences of at most 320 characters, each with its first and last line."""
    text = " ".join(line.text for line in paragraph)
    starts, position = [], 0
    for line in paragraph:
        starts.append((position, line.number))
        position += len(line.text) + 1
    found: list[tuple[str, int, int]] = []
    begin = 0
    for end in [*(match.start() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = text[begin:end].strip()
        if sentence and len(sentence) <= MAX_QUOTE_CHARS:
            found.append((sentence, _line_at(starts, begin), _line_at(starts, max(begin, end - 1))))
        begin = end
        while begin < len(text) and text[begin].isspace():
            begin += 1
    return found


def _line_at(starts: Sequence[tuple[int, int]], position: int) -> int:
    return [number for start, number in starts if start <= position][-1]
