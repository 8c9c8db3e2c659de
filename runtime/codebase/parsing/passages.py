"""Cuts a file's prose into passages of at most 120 words, with their headings and the names in them.

Passages are paragraphs of documents, documentation strings, comments of weight, help texts of options, and the names of
tests. They are made of whole lines, so that each can be cited as it is. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.parsing.chunks import COMMENT_MARKS
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, FileSyntax, Symbol

PassageKind = Literal["document", "changelog", "docstring", "comment", "help", "test_name"]

MAX_WORDS = 120
MAX_PASSAGES = 4_000
MAX_NAMES = 12
MAX_HEADING_CHARS = 200
LEAST_COMMENT_WORDS = 10
LEAST_DOCUMENT_WORDS = 4
LEAST_HELP_WORDS = 3
_LEAST_TEST_WORDS = 2
_OPTION_LINES = 6
# A word has two letters and a blank at least.
_SURELY_SHORT_CHARS = 3 * MAX_WORDS
_HEAD_LINES = 30

_BLANK = re.compile(r"^[\s#/*>=~\-_`|+.:;]*$")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LICENCE = re.compile(r"copyright|licen[sc]e[ds]?\b|SPDX|all rights reserved|warranty", re.IGNORECASE)
_CODE_LINE = re.compile(
    r"[;{}]\s*$|^\W*(?:if|for|while|return|import|from|const|let|var|def|fn|func)\b.*[({:=]|\w\(.*\)\s*$"
)
_HELP = re.compile(
    r"""(?:\b(?:help|description|usage|short|long|about|long_about)\s*[=:(]\s*|\boption\(.*,\s*|Var[P]?\(.*,\s*)
    (?:f|r|rf)?(?P<quote>["'`])(?P<text>.{8,400}?)(?P=quote)""",
    re.VERBOSE | re.IGNORECASE,
)
_HELP_KEY = re.compile("elp|escription|sage|hort|ong|bout|option|Var")
_OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]+")
_TEST_CALL = re.compile(r"\b(?:it|test|describe|context|specify|scenario|t\.Run|Run)\(\s*([\"'`])(?P<name>.{8,200}?)\1")
_TEST_NAME = re.compile(r"^(?:test|should|it)[_A-Z]|_test$|Test[A-Z]|^Test")

_TICKED = re.compile(r"`{1,2}~?([^`\n<>]{2,80})`{1,2}")
_PATH = re.compile(r"(?<![\w/.])[\w.-]+(?:/[\w.-]+)*\.(?!\d)[A-Za-z]\w{0,6}\b(?![\w.]*\()")
_DISTINCTIVE = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|\w*[a-zA-Z]_\w+)(?:\(\))?"
)
_MAY_HAVE_NAMES = re.compile(r"\w[._:/]+\w|[a-z][A-Z]|-\w")
_ABBREVIATION = re.compile(r"\w(?:\.\w)*\.?")


class PassageSpan(NamedTuple):
    """Spans lines `start_line` to `end_line` (inclusive); `heading`: the headings, or the name, that they belong to.

    `names`: the identifiers, options and paths in it, at most 12, in order.
    """

    kind: PassageKind
    start_line: int
    end_line: int
    heading: str
    names: tuple[str, ...]


def cut_passages(
    path: str, lines: Sequence[str], syntax: FileSyntax, *, is_prose: bool, comment_marks: str = ""
) -> list[PassageSpan]:
    """Return the passages of a file, ordered by line; at most 4000. `comment_marks`: as in `chunks.cut`."""
    path_kind = kind_of_path(path)
    if is_prose:
        found = _of_document(lines, syntax.symbols, "changelog" if path_kind == "changelog" else "document")
    else:
        found = _of_code(lines, syntax, (*COMMENT_MARKS, *comment_marks.split()), path_kind)
    kept = []
    for span in found:
        kept.append(span)
        if len(kept) == MAX_PASSAGES:
            break
    return sorted(kept, key=lambda span: (span.start_line, span.end_line))


def plain_text(lines: Iterable[str]) -> str:
    """Return the words of lines without comment marks and markup at their edges, one line for each."""
    return "\n".join(line.strip(" \t#/*>-;\"'|").rstrip() for line in lines)


def names_in(text: str) -> tuple[str, ...]:
    """Return what a text says in backticks, and its distinctive identifiers, options and paths, each once."""
    found = [match.group(1).strip().removesuffix("()") for match in _TICKED.finditer(text)]
    if _MAY_HAVE_NAMES.search(text):
        for pattern in (_OPTION, _PATH, _DISTINCTIVE):
            found += [match.group().removesuffix("()") for match in pattern.finditer(text)]
    usable = (name for name in found if " " not in name and _ABBREVIATION.fullmatch(name) is None and len(name) > 2)
    return tuple(dict.fromkeys(usable))[:MAX_NAMES]


def word_count(text: str) -> int:
    """Return the number of words of two letters or more."""
    return len(_WORD.findall(text))


def _of_document(lines: Sequence[str], symbols: Sequence[Symbol], kind: PassageKind) -> Iterator[PassageSpan]:
    headings = _headings(lines, symbols)
    for start, end in _paragraphs(lines, {symbol.start_line for symbol in symbols}):
        text = "\n".join(lines[start - 1 : end])
        if word_count(text) >= LEAST_DOCUMENT_WORDS:
            yield PassageSpan(kind, start, end, headings[start - 1], names_in(text))


def _headings(lines: Sequence[str], symbols: Sequence[Symbol]) -> list[str]:
    """Return the headings above each line, from the outermost to the innermost."""
    headings = [""] * len(lines)
    for symbol in symbols:
        if symbol.kind != "section":
            continue
        above = headings[symbol.start_line - 1] if symbol.start_line <= len(lines) else ""
        path = f"{above} > {symbol.name}" if above else symbol.name
        for line in range(symbol.start_line, min(symbol.end_line, len(lines)) + 1):
            headings[line - 1] = path[-MAX_HEADING_CHARS:]
    return headings


def _paragraphs(lines: Sequence[str], openings: set[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most 120 words: paragraphs of a section, joined while they fit, cut where they do not."""
    start = end = words = 0
    for first, last, opens in _blocks(lines, openings):
        more = sum(word_count(line) for line in lines[first - 1 : last])
        if start and (opens or words + more > MAX_WORDS):
            yield start, end
            start = words = 0
        if more > MAX_WORDS:
            yield from _cut_block(lines, first, last)
            continue
        start, end, words = start or first, last, words + more
    if start:
        yield start, end


def _blocks(lines: Sequence[str], openings: set[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield the ranges between blank lines and headings, and whether a heading begins them; examples stay whole."""
    start, fenced = 0, False
    for number, line in enumerate(lines, 1):
        if start and not fenced and (_BLANK.match(line) or number in openings):
            yield start, number - 1, start in openings
            start = 0
        if _FENCE.match(line):
            fenced = not fenced
        if not start and (fenced or not _BLANK.match(line)):
            start = number
    if start:
        yield start, len(lines), start in openings


def _cut_block(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a block that is too long, cut behind lines that end a sentence where there are such."""
    start, words, ended = first, 0, 0
    for number in range(first, last + 1):
        more = word_count(lines[number - 1])
        if number > start and words + more > MAX_WORDS:
            cut_after = ended if ended >= start else number - 1
            yield start, cut_after
            start, ended = cut_after + 1, 0
            words = sum(word_count(line) for line in lines[start - 1 : number - 1])
        words += more
        if lines[number - 1].rstrip().endswith((".", "!", "?", "|", ":")):
            ended = number
    yield start, last


def _of_code(
    lines: Sequence[str], syntax: FileSyntax, marks: tuple[str, ...], path_kind: PathKind
) -> Iterator[PassageSpan]:
    documented: set[int] = set()
    for start, end in syntax.doc_ranges:
        documented.update(range(start, end + 1))
        yield from _spans("docstring", lines, start, end, _name_at(syntax.symbols, start))
    for start, end in _comment_blocks(lines, marks, documented):
        text = plain_text(lines[start - 1 : end])
        if _has_weight(text, lines[start - 1 : end], start):
            yield from _spans("comment", lines, start, end, _name_at(syntax.symbols, end + 1))
    yield from _help_texts(lines, syntax.symbols)
    if path_kind == "test":
        yield from _test_names(lines, syntax.symbols)


def _spans(kind: PassageKind, lines: Sequence[str], start: int, end: int, heading: str) -> Iterator[PassageSpan]:
    """Yield the parts of a range that have at most 120 words each."""
    whole = "\n".join(lines[start - 1 : end])
    if len(whole) < _SURELY_SHORT_CHARS:
        if word_count(whole) >= LEAST_HELP_WORDS:
            yield PassageSpan(kind, start, end, heading, names_in(whole))
        return
    for first, last in _paragraphs(lines[start - 1 : end], set()):
        text = "\n".join(lines[start + first - 2 : start + last - 1])
        if word_count(text) >= LEAST_HELP_WORDS:
            yield PassageSpan(kind, start + first - 1, start + last - 1, heading, names_in(text))


def _name_at(symbols: Sequence[Symbol], line: int) -> str:
    """Return the qualified name of the innermost definition around a line, or of one that begins there."""
    around = [s for s in symbols if s.start_line <= line <= s.end_line and s.kind not in {"module", "key", "section"}]
    return max(around, key=lambda s: (s.start_line, -s.end_line)).qualified_name if around else ""


def _comment_blocks(lines: Sequence[str], marks: tuple[str, ...], taken: set[int]) -> Iterator[tuple[int, int]]:
    beginnings = {mark[0] for mark in marks}
    start = 0
    for number, line in enumerate(lines, 1):
        stripped = line.lstrip()
        is_comment = (
            stripped[:1] in beginnings
            and stripped.startswith(marks)
            and number not in taken
            and not stripped.startswith(("#include", "#def"))
        )
        if is_comment and not start:
            start = number
        elif not is_comment and start:
            yield start, number - 1
            start = 0
    if start:
        yield start, len(lines)


def _has_weight(text: str, lines: Sequence[str], start: int) -> bool:
    """Return True for prose that explains something: not a licence, a rule, or code that is commented out."""
    if word_count(text) < LEAST_COMMENT_WORDS or (start <= _HEAD_LINES and _LICENCE.search(text)):
        return False
    code = sum(_CODE_LINE.search(line) is not None for line in lines)
    return code <= len(lines) / 3


def _help_texts(lines: Sequence[str], symbols: Sequence[Symbol]) -> Iterator[PassageSpan]:
    for number, line in enumerate(lines, 1):
        # The expression is slow on the many lines without any string.
        is_told = ('"' in line or "'" in line or "`" in line) and _HELP_KEY.search(line) is not None
        found = _HELP.search(line[:1_000]) if is_told else None
        if found is None or word_count(found["text"]) < LEAST_HELP_WORDS:
            continue
        start = number
        for above in range(number, max(0, number - _OPTION_LINES), -1):
            if _OPTION.search(lines[above - 1].replace(found["text"], "")):
                start = above
                break
        said = "\n".join(lines[start - 1 : number])
        yield PassageSpan("help", start, number, _name_at(symbols, number), names_in(said))


def _test_names(lines: Sequence[str], symbols: Sequence[Symbol]) -> Iterator[PassageSpan]:
    for symbol in symbols:
        is_test = symbol.kind in CALLABLE_KINDS and _TEST_NAME.search(symbol.name) is not None
        if (
            is_test
            and word_count(symbol.name.replace("_", " ")) >= _LEAST_TEST_WORDS
            and symbol.name_line <= len(lines)
        ):
            yield PassageSpan("test_name", symbol.name_line, symbol.name_line, symbol.qualified_name, ())
    for number, line in enumerate(lines, 1):
        called = _TEST_CALL.search(line[:1_000])
        if called is not None and word_count(called["name"]) >= _LEAST_TEST_WORDS:
            yield PassageSpan("test_name", number, number, called["name"], names_in(called["name"]))
