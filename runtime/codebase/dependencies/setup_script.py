"""Reads the lists of requirements in a setup.py, which is never run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.dependencies.requirement import REQUIREMENT, Group, Row, group_of

MAX_LISTED_LINES = 200
_LISTED = re.compile(
    r"\b(?P<key>\w*(?:requires?|requirements|dependencies|deps))\b[\"']?\s*+[=:]\s*+(?:\w++\s*+\(\s*+)?[\[({]"
)
_STRING = re.compile(r"([\"'])([^\"'\n]{1,300})\1")
_BEFORE_VALUE = re.compile(r"\s*+:")
_OPENING, _CLOSING = frozenset("[({"), frozenset("])}")


def setup_py(path: str, lines: Sequence[str]) -> Iterator[Row]:
    """Yield the requirements in lists that are called so, each line of a list once."""
    read = 0
    for start, line in enumerate(lines):
        listed = _LISTED.search(line) if start >= read and not line.lstrip().startswith("#") else None
        if listed is None:
            continue
        key = listed["key"]
        group: Group = "optional" if "extra" in key else "build" if "setup" in key else group_of(key)
        depth, at = 0, listed.end() - 1
        for number in range(start, min(len(lines), start + MAX_LISTED_LINES)):
            text, depth = _until_closed(lines[number][at:], depth)
            for found in _STRING.finditer(text):
                name = REQUIREMENT.match(found.group(2)) if _BEFORE_VALUE.match(text, found.end()) is None else None
                if name is not None:
                    yield Row(name.group(1), number + 1, group)
            read, at = number + 1, 0
            if depth <= 0:
                break


def _until_closed(text: str, depth: int) -> tuple[str, int]:
    """Return a line up to the bracket that closes the list, and how deep it ends; brackets in strings do not count."""
    quote = ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return text[:place], depth
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth <= 0:
                return text[:place], 0
    return text, depth
