"""Reads the patterns of a `.gitignore` file and matches paths as git does, in bounded time.

Plain names and `*.suffix`, which most patterns are, are looked up in tables; the others are regular expressions that
`glob_pattern` keeps from backtracking. Patterns and paths are bytes, as in git.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import NamedTuple

from runtime.codebase.files.glob_pattern import has_magic, translate

MAX_IGNORE_FILE_BYTES = 1_000_000
MAX_PATTERNS = 10_000
MAX_PATTERN_BYTES = 4096
_TRAILING_SPACES = re.compile(rb"(?<! ) +\Z")


class IgnorePattern(NamedTuple):
    """Holds one line: its pattern without markers; `anchored` ones match whole paths, the others names."""

    pattern: bytes
    is_negated: bool
    only_folders: bool
    anchored: bool


class IgnoreRules:
    """Holds the patterns of one file, in order; the last one that matches a path decides."""

    def __init__(self, patterns: Iterable[IgnorePattern]) -> None:
        self._verdicts: list[bool] = []
        # Each table gives the place of the last pattern that matches: for folders, and for anything else.
        self._names: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._paths: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._suffixes: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._expressions: list[tuple[int, bool, bool, bytes]] = []
        self._compiled: dict[bytes, re.Pattern[bytes]] = {}
        for pattern in patterns:
            self._add(pattern)
        self._expressions.reverse()
        self._suffix_lengths = sorted({len(suffix) for table in self._suffixes for suffix in table})

    def __len__(self) -> int:
        return len(self._verdicts)

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """Return True if a path (relative to the file, without a final slash) is ignored, False if re-included."""
        kind = 0 if is_folder else 1
        name = path.rpartition(b"/")[2]
        last = max(self._names[kind].get(name, -1), self._paths[kind].get(path, -1))
        suffixes = self._suffixes[kind]
        for length in self._suffix_lengths:
            if length > len(name):
                break
            last = max(last, suffixes.get(name[len(name) - length :], -1))
        for place, only_folders, anchored, source in self._expressions:
            if place < last:
                break
            if (is_folder or not only_folders) and self._matches(source, path if anchored else name):
                last = place
                break
        return None if last < 0 else self._verdicts[last]

    def _matches(self, source: bytes, text: bytes) -> bool:
        compiled = self._compiled.get(source)
        if compiled is None:
            compiled = self._compiled[source] = re.compile(source, re.DOTALL)
        return compiled.fullmatch(text) is not None

    def _add(self, line: IgnorePattern) -> None:
        place = len(self._verdicts)
        self._verdicts.append(not line.is_negated)
        pattern = line.pattern
        if not has_magic(pattern):
            tables = self._paths if line.anchored else self._names
        elif not line.anchored and pattern.startswith(b"*") and not has_magic(pattern[1:]):
            tables, pattern = self._suffixes, pattern[1:]
        else:
            source = translate(pattern, in_segment=not line.anchored)
            self._expressions.append((place, line.only_folders, line.anchored, source))
            return
        tables[0][pattern] = place
        if not line.only_folders:
            tables[1][pattern] = place


def parse_ignore_file(content: bytes) -> tuple[list[IgnorePattern], int]:
    """Return the patterns of a file, and how many were left out since they are longer than 4096 bytes."""
    found: list[IgnorePattern] = []
    too_long = 0
    for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        if len(line) > MAX_PATTERN_BYTES:
            too_long += not line.startswith(b"#")
        elif (pattern := parse_pattern(line.removesuffix(b"\r"))) is not None:
            found.append(pattern)
    return found, too_long


def parse_pattern(line: bytes) -> IgnorePattern | None:
    """Return the pattern of one line without its end; None for a comment or a line that can match nothing."""
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line.partition(b"\0")[0])
    is_negated = line.startswith(b"!")
    pattern = line[1:] if is_negated else line
    only_folders = pattern.endswith(b"/")
    if only_folders:
        pattern = pattern[:-1]
    anchored = b"/" in pattern
    pattern = pattern.removeprefix(b"/")
    return IgnorePattern(pattern, is_negated, only_folders, anchored) if pattern else None


def _without_trailing_spaces(line: bytes) -> bytes:
    """Remove the spaces at the end of a line; one that is escaped, and what precedes it, stays."""
    trailing = _TRAILING_SPACES.search(line)
    if trailing is None:
        return line
    kept = line[: trailing.start()]
    escapes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if escapes % 2 else kept
