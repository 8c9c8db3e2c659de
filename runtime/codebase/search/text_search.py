"""Searches the lines of files for a string or a regular expression."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import regex as regular

from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import MAX_READ_BYTES, UTF16_MARKS, ReadSource, SourceText
from runtime.codebase.index.records import TextHit
from runtime.codebase.search.required_text import required_texts
from runtime.codebase.search.ripgrep import files_with
from runtime.errors import ToolArgumentsError
from runtime.processes.call_scope import check_called_off

MAX_PATTERN_CHARS = 1000
MAX_LINE_CHARS = 4000
MAX_HIT_CHARS = 400
# The signs beyond ASCII that equal ASCII letters where case does not count: dotted and dotless i, long s, Kelvin.
LIKE_ASCII = "\u0130\u0131\u017f\u212a"


class FoundText(NamedTuple):
    """Holds hits, whether there may be more, and whether the time limit ended the search."""

    hits: list[TextHit]
    more: bool
    timed_out: bool


class RequiredTexts(NamedTuple):
    """Holds texts that every match contains; without `case_sensitive` in lower case, and ASCII ones alone."""

    texts: tuple[str, ...]
    case_sensitive: bool

    def may_be_in(self, text: str) -> bool:
        """Return False only if a text holds no match. Many times as fast as to search for one."""
        if self.case_sensitive or not self.texts:
            # Mostly one, in hundreds of texts.
            return self.texts[0] in text if len(self.texts) == 1 else all(one in text for one in self.texts)
        if text.isascii():
            text = text.lower()
            return all(required in text for required in self.texts)
        if any(sign in text for sign in LIKE_ASCII):
            return True
        # Bytes are lowered many times as fast as text; those of ASCII stand for nothing else.
        data = text.encode("utf-8", "surrogatepass").lower()
        return all(required.encode() in data for required in self.texts)

    def selecting(self, total_bytes: int, kept_bytes: int) -> str:
        """Return the text by which files of so many bytes are selected, empty where all of them fit into memory.

        What is read once and kept is searched sooner than a program looks through the files. Blanks select nothing:
        `def ` is in more files than any name of three letters.
        """
        if total_bytes <= kept_bytes:
            return ""
        return max(self.texts, key=lambda text: (len(text.strip()), len(text)), default="")

    def lines_of(self, lines: Sequence[str]) -> Iterable[tuple[int, str]]:
        """Return the lines that may hold a match, each with its number from 1."""
        longest = max(self.texts, key=len, default="") if self.case_sensitive else ""
        if longest:
            return [(number, line) for number, line in enumerate(lines, 1) if longest in line]
        return ((number, line) for number, line in enumerate(lines, 1) if self.may_be_in(line))


class Pattern(Protocol):
    """Searches a text; implemented by `re` for plain strings and by `regex`, which can time out, for expressions."""

    @property
    def required(self) -> RequiredTexts:
        """Return the texts that every match contains."""
        ...

    def search(self, text: str, /, *, timeout: float | None = None) -> re.Match[str] | None:
        """Return the first match, or None; TimeoutError after `timeout` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class _Plain:
    """Searches for a string, in time linear in the text; ignores `timeout`."""

    compiled: re.Pattern[str]
    required: RequiredTexts

    def search(self, text: str, /, *, timeout: float | None = None) -> re.Match[str] | None:
        return self.compiled.search(text)


@dataclass(frozen=True, slots=True)
class _Expression:
    """Searches for a regular expression; other threads run meanwhile."""

    compiled: Any
    required: RequiredTexts

    def search(self, text: str, /, *, timeout: float | None = None) -> re.Match[str] | None:
        found: re.Match[str] | None = self.compiled.search(text, timeout=timeout, concurrent=True)
        return found


def compile_pattern(pattern: str, *, regex: bool, case_sensitive: bool) -> Pattern:
    """Compile the pattern to search lines with. ToolArgumentsError if it is empty, too long, or invalid."""
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise ToolArgumentsError(f"a pattern has 1 to {MAX_PATTERN_CHARS} characters, not {len(pattern)}")
    flags = re.MULTILINE if case_sensitive else re.MULTILINE | re.IGNORECASE
    try:
        # A pattern that Python's own module refuses is refused too, so that its documentation applies.
        plain = re.compile(pattern if regex else re.escape(pattern), flags)
        required = _required(required_texts(pattern) if regex else (pattern,), case_sensitive=case_sensitive)
        return _Expression(regular.compile(pattern, int(flags)), required) if regex else _Plain(plain, required)
    except (re.error, regular.error, OverflowError, RecursionError) as error:
        raise ToolArgumentsError(f"{pattern!r} is no regular expression: {error}") from error


def _required(texts: tuple[str, ...], *, case_sensitive: bool) -> RequiredTexts:
    known = texts if case_sensitive else tuple(text.lower() for text in texts if text.isascii())
    return RequiredTexts(known, case_sensitive)


def search_files(
    pattern: Pattern,
    paths: Iterable[str],
    read: ReadSource,
    *,
    may_have: Callable[[str], bool],
    max_hits: int,
    deadline_s: float,
) -> FoundText:
    """Return hits in the order of `paths` and lines; at the deadline, those found so far.

    `may_have` is a cheap filter of the files worth reading; `read` returns None for a file that cannot be read now;
    `deadline_s` is an instant of `time.monotonic` that also ends a regular expression's search within a line.
    """
    hits: list[TextHit] = []
    # Few lines have what every match contains; in a whole text an expression may try each place to the end.
    has_few_lines = bool(pattern.required.texts)
    try:
        for path in paths:
            check_called_off()
            left_s = _left(deadline_s)
            source = read(path) if may_have(path) else None
            if source is None or not pattern.required.may_be_in(source.text):
                continue
            if has_few_lines and next(hits_in(pattern, path, source, deadline_s), None) is None:
                continue
            if pattern.search(source.text, timeout=left_s) is None:
                continue
            for hit in hits_in(pattern, path, source, deadline_s):
                if len(hits) == max_hits:
                    return FoundText(hits, more=True, timed_out=False)
                hits.append(hit)
    except TimeoutError:
        return FoundText(hits, more=True, timed_out=True)
    return FoundText(hits, more=False, timed_out=False)


def _left(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def files_listed(root: Path, literal: str, *, case_sensitive: bool, rg: str | None) -> frozenset[str] | None:
    """Return the files that may contain a literal, as ripgrep lists them at once; None where it cannot tell.

    `rg` is the path of ripgrep, if there is one.
    """
    if rg is None or not literal.isprintable() or not _selects(literal, case_sensitive):
        return None
    return files_with(root, literal, case_sensitive=case_sensitive, command=[rg])


def _selects(literal: str, case_sensitive: bool) -> bool:
    return bool(literal) and (case_sensitive or literal.isascii())


def byte_filter(root: Path, literal: str, *, case_sensitive: bool) -> Callable[[str], bool]:
    """Return a filter of files whose bytes may contain a literal.

    It is always True for an empty literal, and for a non-ASCII one that ignores case.
    """
    if not _selects(literal, case_sensitive):
        return lambda _path: True
    needle = literal.encode("utf-8", "replace") if case_sensitive else literal.lower().encode()

    def may_have(path: str) -> bool:
        try:
            data = read_below(root, path, MAX_READ_BYTES)
        except OSError:
            return False
        # Encodings other than UTF-8 are recognised by their marks, and left to the reader.
        return data.startswith(UTF16_MARKS) or needle in (data if case_sensitive else data.lower())

    return may_have


def hits_in(pattern: Pattern, path: str, source: SourceText, deadline_s: float) -> Iterator[TextHit]:
    """Yield the lines of one file that the pattern matches; only the first 4000 characters of a line are searched.

    TimeoutError at `deadline_s`.
    """
    for number, line in pattern.required.lines_of(source.lines):
        found = pattern.search(line[:MAX_LINE_CHARS], timeout=_left(deadline_s))
        if found is not None:
            start = max(0, min(found.start() - 80, len(line) - MAX_HIT_CHARS)) if len(line) > MAX_HIT_CHARS else 0
            yield TextHit(path, number, line[start : start + MAX_HIT_CHARS])
