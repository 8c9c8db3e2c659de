"""Cuts a long report to the lines that speak of the code, before it is searched for.

Reports bring logs, lists of packages and tables of versions along, which outweigh the few lines that say what is wrong.
Pure functions; time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Set
from itertools import groupby

LONG_CHARS = 2_000
MAX_CHARS = 8_000
MAX_REPORT_CHARS = 100_000
MAX_LINE_CHARS = 400
HEAD_CHARS = 1_500
LEAST_PROSE_WORDS = 6
# So many lines of packages in a row are a list; a single one may be the subject of the report.
LEAST_LISTED = 3

Known = Callable[[Collection[str]], Set[str]]

_VERSION = r"v?\d+(?:\.\d+)+[\w.+-]*"
_PACKAGE = re.compile(
    rf"^[\s|*>\"'-]*[\w@][\w./@-]*[\"']?\s*(?:==|~=|>=|<=|[=@:|,\s(])\s*[\"'^~(]*{_VERSION}[\"'),;]*(?:\s+\S+){{0,3}}[\s|]*$"
)
_COUNTED = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8,}|\d+")
_LETTERS = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_PATH = re.compile(r"(?<![\w.-])[\w.-]++[/\\][\w./\\-]+|(?<![\w-])-*+\w[\w-]*+\.[a-z]{1,4}\b")
_ERROR = re.compile(
    r"\b\w*(?:Error|Exception|Warning|Panic)\b|\b(?:error|exception|traceback|panic|panicked|fatal|failed|failure"
    r"|cannot|could not|unexpected|expected|undefined|segfault|assert\w*)\b"
)
_PROSE_WORD = re.compile(r"(?<!\S)[A-Za-z'’-]+[,.;:!?)]*(?!\S)")


def lines_about_code(text: str, known: Known, *, max_chars: int = MAX_CHARS) -> str:
    """Return the lines of a long text that speak of the code, in order, with `max_chars` characters at most.

    A text of up to 2,000 characters is returned as it is. Lists of packages, lines without letters, and lines that
    differ from an earlier one by numbers alone are dropped. If the rest is still too long, the head stays, and then
    errors, lines with paths or names that `known` returns, and prose, earlier lines first. Only the first 100,000
    characters are read; longer lines than 400 characters are taken in parts.
    """
    if len(text) <= min(LONG_CHARS, max_chars):
        return text
    lines = [part for line in text[:MAX_REPORT_CHARS].splitlines() for part in _parts(line)]
    kept = _without_repeats(_without_lists(lines))
    if not kept:
        return text[:max_chars]
    names = known({name for line in kept for name in _NAME.findall(line)})
    head = _head_count(kept)
    order = sorted(range(len(kept)), key=lambda place: (-1 if place < head else _rank(kept[place], names), place))
    chosen: list[int] = []
    left = max_chars
    for place in order:
        if len(kept[place]) + 1 <= left:
            chosen.append(place)
            left -= len(kept[place]) + 1
    return "\n".join(kept[place] for place in sorted(chosen)) or kept[0][:max_chars]


def _parts(line: str) -> list[str]:
    """Return a line in parts of at most 400 characters, cut at blanks where it has any."""
    if len(line) <= MAX_LINE_CHARS:
        return [line.rstrip()]
    parts = []
    start = 0
    while len(line) - start > MAX_LINE_CHARS:
        at = line.rfind(" ", start + 1, start + MAX_LINE_CHARS + 1)
        at = at if at > start else start + MAX_LINE_CHARS
        parts.append(line[start:at].strip())
        start = at
    return [*parts, line[start:].strip()]


def _without_lists(lines: Iterable[str]) -> list[str]:
    """Drop runs of at least three lines that each name a package and its version."""
    kept: list[str] = []
    for is_package, run in groupby(lines, lambda line: _PACKAGE.match(line) is not None):
        found = list(run)
        if not is_package or len(found) < LEAST_LISTED:
            kept += found
    return kept


def _without_repeats(lines: Iterable[str]) -> list[str]:
    """Drop lines without letters, and those that equal an earlier one but for their numbers."""
    seen: set[str] = set()
    kept: list[str] = []
    for line in lines:
        shape = _COUNTED.sub("0", line).strip()
        if _LETTERS.search(line) and shape not in seen:
            seen.add(shape)
            kept.append(line)
    return kept


def _head_count(lines: list[str]) -> int:
    """Return how many of the first lines belong to the head of the report: 1,500 characters."""
    used = 0
    for place, line in enumerate(lines):
        used += len(line) + 1
        if used > HEAD_CHARS:
            return max(1, place)
    return len(lines)


def _rank(line: str, names: Set[str]) -> int:
    """Return how soon a line is chosen behind the head, 0 first."""
    is_known = any(name in names for name in _NAME.findall(line))
    is_prose = len(_PROSE_WORD.findall(line)) >= LEAST_PROSE_WORDS
    if _ERROR.search(line) and (is_known or _PATH.search(line) or is_prose):
        return 0
    if is_known and _PATH.search(line):
        return 1
    if is_prose:
        return 2
    return 3 if is_known or _ERROR.search(line) else 4
