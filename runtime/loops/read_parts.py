"""Tracks which files and lines have been read, so that a part read before is not taken for new.

A look-up costs as much as its file has separate parts that were read; parts that touch are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# A part that overlaps what is known is new from this share of unread lines on: a window that creeps on is not.
MIN_UNREAD_SHARE = 0.1

_PART = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


class ReadParts:
    """Tracks what has been read, by names such as `path`, `path:line` or `path:first-last` (both inclusive)."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._lines: dict[str, list[tuple[int, int]]] = {}

    def add(self, names: Iterable[str]) -> None:
        """Take in what was read."""
        for name in names:
            part = _part_of(name)
            if part is None:
                self._whole.add(name)
            else:
                path, first, last = part
                self._lines[path] = _merged(self._lines.get(path, []), first, last)

    def is_any_new(self, names: Iterable[str]) -> bool:
        """Return whether any of `names` has not been read, neither itself nor as a part of what was."""
        return any(self._is_new(name) for name in names)

    def _is_new(self, name: str) -> bool:
        part = _part_of(name)
        if part is None or part[0] in self._whole:
            return part is None and name not in self._whole
        path, first, last = part
        known = sum(
            min(last, end) - max(first, start) + 1
            for start, end in self._lines.get(path, [])
            if start <= last and first <= end
        )
        length = last - first + 1
        return known < length and length - known >= MIN_UNREAD_SHARE * length


def _part_of(name: str) -> tuple[str, int, int] | None:
    """Return path, first and last line; None for a whole file, or lines in the wrong order."""
    found = _PART.fullmatch(name)
    if found is None:
        return None
    first = int(found["first"])
    last = int(found["last"] or first)
    return (found["path"], first, last) if first <= last else None


def _merged(spans: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """Return disjoint spans in order, with the new one joined to those that it touches."""
    touching = [(start, end) for start, end in spans if start <= last + 1 and first <= end + 1]
    first = min([first, *(start for start, _ in touching)])
    last = max([last, *(end for _, end in touching)])
    return sorted([*(span for span in spans if span not in touching), (first, last)])
