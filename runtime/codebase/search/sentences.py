"""Splits prose into sentences and picks those that answer a question, from passages and from code.

A sentence keeps the words of its lines; the marks of comments, quotations and lists are not part of it, and white space
counts as one blank. `holds` checks a quote against lines in the same way. Pure functions.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from runtime.codebase.files.words import index_terms

MAX_SENTENCES = 2
MAX_SENTENCE_CHARS = 600
MAX_QUOTE_CHARS = 320
MIN_WORDS = 4
# A quoted sentence must cover this share of the question's weight.
MIN_SHARE = 0.12
# What a further word of a quoted sentence costs, of the question's weight.
WORD_COST = 0.002
# A second sentence must add as much of the question's weight.
LEAST_GAIN = 0.15
_EARLY_BONUS = 0.02
# A question answers none, nor does an example, or a line of names alone.
_QUESTION_FACTOR, _EXAMPLE_FACTOR = 0.2, 0.4

_DOC_QUOTE = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|''')")
_COMMENT = re.compile(r"\s*(?:///?!?|//|/\*\*?|\*/|\*(?=\s|$)|#+(?![!\[\w])|--+(?=\s)|;;+|<!--|-->)\s?")
_LINE_COMMENT_END = re.compile(r"\s*(?:\*/|-->)\s*$")
_QUOTATION = re.compile(r"^\s*(?:>\s?)+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|\.\. [\w:-]+::)\s+")
_ROW = re.compile(r"\s*\|")
# The point of an abbreviation, a number or an ellipsis ends no sentence, and a colon never does.
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)(?<!\betc)(?<!\bresp)(?<!\bincl)(?<!\bapprox)(?<!\bNo)(?<!\bFig)"
    r"[.!?][\"')\]*_`]*\s+(?=[\"'(\[`*@«„“<0-9-]|[^\W\d_a-z])|[。！？]\s*"
)
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}|={1,6})\s")
_UNDERLINE = re.compile(r"\s*([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_RULE = re.compile(r"\s*(?:[-=~^*_#\"'`+|.:]{3,}[\s|+:-]*|\.\.(?:\s+(?![\w:-]+::\s+\S+\s+\S).*)?|@\w+)\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DISABLES = re.compile(
    r"\b(?:noqa|nolint|eslint|pylint|type: ignore|prettier-ignore|SPDX|copyright|licen[cs]ed?|istanbul|rubocop)\b", re.I
)
# A comment that neither begins like a sentence nor ends like one is a note: «the rest of it».
_SENTENCE = re.compile(r"[\"'(\[`*@]*[A-Z0-9]|.*[.!?:][\"')\]`*]*$", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NO_PROSE = re.compile(r"`[^`]*`|\S*[_/:.(){}\[\]=]\S+")
_PROSE_WORD = re.compile(r"[^\W\d_]+")


class Sentence(msgspec.Struct, frozen=True):
    """Holds a sentence and the first and last of its lines, inclusive, from 1.

    `share`: of the question's weight that it covers, 0 to 1, less for a question or an example in a passage. `line`:
    its first line as it stands in the file, stripped.
    """

    text: str
    start_line: int
    end_line: int
    share: float = 0.0
    line: str = ""


class _Line(NamedTuple):
    number: int
    text: str


class _Paragraph(NamedTuple):
    """Holds lines that sentences do not leave. `is_example`: in a fence; `is_row`: of a table."""

    lines: list[_Line]
    is_example: bool = False
    is_row: bool = False


def best_sentences(
    lines: Sequence[str],
    first_line: int,
    weights: Mapping[str, float],
    *,
    is_document: bool = True,
) -> tuple[Sentence, ...]:
    """Return the sentence of a passage that covers most of a question, and one beside it that adds to that.

    `weights`: of the question's terms. The headings of a document are no sentences. Empty for lines without a word.
    """
    found = _sentences_of(lines, first_line, _passage_paragraphs(lines, first_line, is_document=is_document))
    if not found:
        return ()
    covered = [frozenset(index_terms(sentence.text).split()) & weights.keys() for sentence, _ in found]
    shares = [
        sum(weights[term] for term in own) * _factor(sentence.text, is_example=paragraph.is_example)
        for (sentence, paragraph), own in zip(found, covered, strict=True)
    ]
    best = max(range(len(found)), key=lambda place: (shares[place] + (_EARLY_BONUS if place == 0 else 0), -place))
    beside = [place for place in (best - 1, best + 1) if 0 <= place < len(found)]
    gains = {place: sum(weights[term] for term in covered[place] - covered[best]) for place in beside}
    chosen = [best, *(place for place in beside if gains[place] >= LEAST_GAIN and gains[place] == max(gains.values()))]
    return tuple(
        msgspec.structs.replace(found[place][0], share=round(shares[place], 6))
        for place in sorted(chosen[:MAX_SENTENCES])
    )


def best_quote(
    lines: Sequence[str], first_line: int, weights: Mapping[str, float], *, is_document: bool
) -> Sentence | None:
    """Return the sentence of a place that covers most of a question, the first of equals; None if none is worth it.

    Of code, comments and documentation strings count; of a document, what is neither example, table nor heading.
    """
    whole = sum(weights.values())
    best: Sentence | None = None
    best_gain = MIN_SHARE
    if not whole:
        return None
    paragraphs = (
        [found for found in _passage_paragraphs(lines, first_line) if not found.is_example and not found.is_row]
        if is_document
        else _comment_paragraphs(lines, first_line)
    )
    for sentence, _ in _sentences_of(lines, first_line, paragraphs):
        text = sentence.text
        is_note = not is_document and not _SENTENCE.match(text)
        if is_note or len(_LETTERS.findall(text)) < MIN_WORDS or len(text) > MAX_QUOTE_CHARS or _DISABLES.search(text):
            continue
        covered = weights.keys() & set(index_terms(text).split())
        share = sum(weights[term] for term in covered) / whole
        gain = share - WORD_COST * len(text.split())
        if gain > best_gain:
            best, best_gain = msgspec.structs.replace(sentence, share=round(share, 4)), gain
    return best


def split_sentences(lines: Sequence[str], first_line: int, *, is_document: bool = True) -> list[Sentence]:
    """Return the sentences, list items and table rows of lines in order; `first_line` is the number of the first.

    In a document, headings, rules and the marks of examples are left out. A text of more than 600 characters is cut.
    """
    paragraphs = _passage_paragraphs(lines, first_line, is_document=is_document)
    return [sentence for sentence, _ in _sentences_of(lines, first_line, paragraphs)]


def holds(lines: Sequence[str], quote: str) -> bool:
    """Return whether lines hold a quote, comment marks, list marks and white space aside."""
    return bool(quote.strip()) and _flat(quote) in _flat(" ".join(map(_bare, lines)))


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


def _factor(text: str, *, is_example: bool) -> float:
    words = len(_PROSE_WORD.findall(_NO_PROSE.sub(" ", text)))
    factor = min(1.0, (words + 1) / (MIN_WORDS + 1))
    if text.rstrip("\"'*_)").endswith("?"):
        factor *= _QUESTION_FACTOR
    return factor * (_EXAMPLE_FACTOR if is_example else 1.0)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _bare(line: str) -> str:
    """Return a line without the marks of comments, documentation strings, quotations and lists."""
    text = _COMMENT.sub("", line, count=1) if _COMMENT.match(line) else line
    text = _LIST_MARK.sub("", _QUOTATION.sub("", _LINE_COMMENT_END.sub("", text)))
    return _DOC_QUOTE.sub("", text).strip()


def _passage_paragraphs(lines: Sequence[str], first_line: int, *, is_document: bool = True) -> list[_Paragraph]:
    """Group the lines that stand together; list items, rows of tables and lines of examples begin a paragraph."""
    paragraphs = [_Paragraph([])]
    is_fenced = False
    for place, line in enumerate(lines):
        text = _bare(line)
        if is_document and _FENCE.match(line):
            is_fenced = not is_fenced
            paragraphs.append(_Paragraph([], is_fenced))
        elif not text or _RULE.match(line) or (is_document and not is_fenced and _is_heading(lines, place)):
            paragraphs.append(_Paragraph([], is_fenced))
        else:
            is_row = is_document and not is_fenced and _ROW.match(line) is not None
            if is_row or paragraphs[-1].is_row or _begins_item(line, is_document=is_document):
                paragraphs.append(_Paragraph([], is_fenced, is_row))
            paragraphs[-1].lines.append(_Line(first_line + place, text))
    return [paragraph for paragraph in paragraphs if paragraph.lines]


def _comment_paragraphs(lines: Sequence[str], first_line: int) -> list[_Paragraph]:
    """Group the lines of comments and documentation strings that stand together, without notes to other programs."""
    paragraphs = [_Paragraph([])]
    for place, (line, is_prose) in enumerate(zip(lines, comment_lines(lines), strict=True)):
        text = _bare(line) if is_prose else ""
        if not text or _RULE.match(line) or _DISABLES.search(line):
            paragraphs.append(_Paragraph([]))
            continue
        if _begins_item(line, is_document=False):
            paragraphs.append(_Paragraph([]))
        paragraphs[-1].lines.append(_Line(first_line + place, text))
    return [paragraph for paragraph in paragraphs if paragraph.lines]


def _begins_item(line: str, *, is_document: bool) -> bool:
    return _LIST_MARK.match(line if is_document else _COMMENT.sub("", line, count=1)) is not None


def _is_heading(lines: Sequence[str], place: int) -> bool:
    is_underlined = place + 1 < len(lines) and _UNDERLINE.match(lines[place + 1]) is not None
    return is_underlined or _HEADING.match(lines[place]) is not None


def _sentences_of(
    lines: Sequence[str], first_line: int, paragraphs: Sequence[_Paragraph]
) -> list[tuple[Sentence, _Paragraph]]:
    """Split paragraphs into sentences with letters, each with its lines and its paragraph."""
    found: list[tuple[Sentence, _Paragraph]] = []
    for paragraph in paragraphs:
        text = " ".join(line.text for line in paragraph.lines)
        starts = [0]
        for line in paragraph.lines:
            starts.append(starts[-1] + len(line.text) + 1)
        begin = 0
        for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
            said = _cut(text[begin:end].strip())
            if any(character.isalpha() for character in said):
                at = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
                first = paragraph.lines[_line_at(starts, at)].number
                last = paragraph.lines[_line_at(starts, at + len(said) - 1)].number
                shown = lines[first - first_line].strip()[:MAX_QUOTE_CHARS]
                found.append((Sentence(said, first, last, line=shown), paragraph))
            begin = end
    return found


def _cut(text: str) -> str:
    """Return a text of at most 600 characters, cut at a blank if there is one."""
    if len(text) <= MAX_SENTENCE_CHARS:
        return text
    at = text.rfind(" ", 1, MAX_SENTENCE_CHARS + 1)
    return text[: at if at > 0 else MAX_SENTENCE_CHARS].rstrip()


def _line_at(starts: Sequence[int], position: int) -> int:
    return min(bisect.bisect_right(starts, position) - 1, len(starts) - 2)
