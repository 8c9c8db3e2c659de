"""Searching the lines of files for a string or a regular expression."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from runtime.codebase.index_records import TextHit
from runtime.codebase.ripgrep import files_with
from runtime.codebase.source_text import UTF16_MARKS, SourceText
from runtime.errors import ToolArgumentsError

MAX_PATTERN_CHARS = 1000
MAX_LINE_CHARS = 4000
MAX_HIT_CHARS = 400

# A group that repeats something unbounded and is itself repeated takes exponential time on the wrong line.
_NESTED_REPEAT = re.compile(r"\([^()]*[+*][^()]*\)(?:[+*]|\{\d+,)")


def compile_pattern(pattern: str, *, regex: bool, case_sensitive: bool) -> re.Pattern[str]:
    """The pattern to search lines with. ToolArgumentsError when it is empty, too long, invalid, or too slow."""
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise ToolArgumentsError(f"a pattern has 1 to {MAX_PATTERN_CHARS} characters, not {len(pattern)}")
    if regex and _NESTED_REPEAT.search(pattern):
        raise ToolArgumentsError(f"the pattern {pattern!r} repeats a repetition, which can take for ever; simplify it")
    flags = re.MULTILINE if case_sensitive else re.MULTILINE | re.IGNORECASE
    try:
        return re.compile(pattern if regex else re.escape(pattern), flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolArgumentsError(f"{pattern!r} is no regular expression: {error}") from error


def search_files(
    pattern: re.Pattern[str],
    paths: Iterable[str],
    read: Callable[[str], SourceText | None],
    *,
    may_have: Callable[[str], bool],
    max_hits: int,
    deadline_s: float,
) -> tuple[list[TextHit], bool]:
    """Hits in the order of `paths` and lines, and whether there were more (or time ran out).

    `may_have` tells cheaply which files are worth reading; `read` gives None for a file that cannot be read now;
    `deadline_s` is an instant of `time.monotonic`, looked at between files.
    """
    hits: list[TextHit] = []
    for path in paths:
        if time.monotonic() > deadline_s:
            return hits, True
        source = read(path) if may_have(path) else None
        if source is None or pattern.search(source.text) is None:
            continue
        for hit in hits_in(pattern, path, source):
            if len(hits) == max_hits:
                return hits, True
            hits.append(hit)
    return hits, False


def byte_filter(root: Path, literal: str, *, case_sensitive: bool, rg: str | None = None) -> Callable[[str], bool]:
    """Whether a file's bytes may hold a literal: always True for an empty one, or when case cannot be told by bytes.

    `rg` is the path of ripgrep, which looks through all files at once.
    """
    if not literal or (not case_sensitive and not literal.isascii()):
        return lambda _path: True
    listed = None
    if rg is not None and literal.isprintable():
        listed = files_with(root, literal, case_sensitive=case_sensitive, command=[rg])
    if listed is not None:
        return listed.__contains__
    needle = literal.encode("utf-8", "replace") if case_sensitive else literal.lower().encode()

    def may_have(path: str) -> bool:
        try:
            data = (root / path).read_bytes()
        except OSError:
            return False
        # Encodings other than UTF-8 are recognised by their marks, and left to the reader.
        return data.startswith(UTF16_MARKS) or needle in (data if case_sensitive else data.lower())

    return may_have


def hits_in(pattern: re.Pattern[str], path: str, source: SourceText) -> Iterator[TextHit]:
    """The lines of one file that the pattern finds; of longer lines the first 4000 characters are looked at."""
    for number, line in enumerate(source.lines, 1):
        found = pattern.search(line[:MAX_LINE_CHARS])
        if found is not None:
            start = max(0, min(found.start() - 80, len(line) - MAX_HIT_CHARS)) if len(line) > MAX_HIT_CHARS else 0
            yield TextHit(path, number, line[start : start + MAX_HIT_CHARS])
