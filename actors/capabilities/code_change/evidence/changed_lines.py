"""Knows which lines of a workspace differ from the commit that the change began at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import Change, IsOurs, changes_since, printable

Lines = tuple[tuple[int, int], ...]

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
# A file that is wholly new counts with every line.
ALL_LINES: Lines = ((1, 1 << 31),)


class ChangedLines(msgspec.Struct, frozen=True):
    """Holds the files that differ, with the lines that may prove something about each: file → ranges, inclusive.

    `removals`: the lines before and behind what was only removed, which are among them. `deleted`: files that are gone.
    """

    changes: tuple[Change, ...]
    lines: Mapping[str, Lines]
    removals: Mapping[str, Lines]
    deleted: frozenset[str]

    @property
    def files(self) -> tuple[str, ...]:
        """All files that differ, in order."""
        return tuple(change.file for change in self.changes)

    def proves(self, file: str, start: int, end: int) -> bool:
        """Return whether a range overlaps a change of a file."""
        return any(first <= end and start <= last for first, last in self.lines.get(file, ()))

    def within(self, file: str, start: int, end: int) -> Lines:
        """Return the changed parts of a range of a file."""
        touched = (pair for pair in self.lines.get(file, ()) if pair[0] <= end and start <= pair[1])
        return tuple((max(start, first), min(end, last)) for first, last in touched)


def changed_lines(folder: Path, base_commit: str, is_ours: IsOurs) -> ChangedLines:
    """Return what differs in a folder from a commit. Raises GitWriteError."""
    with GitWriter(folder) as git:
        found = changes_since(git, base_commit, is_ours)
        changes = [msgspec.structs.replace(change, file=printable(change.file)) for change in found]
        lines: dict[str, Lines] = {}
        removals: dict[str, Lines] = {}
        for change in (each for each in found if printable(each.file) == each.file):
            if change.how == "added":
                lines[change.file] = ALL_LINES
            elif change.how != "deleted":
                options = ("-p", "-U0", "--no-ext-diff", "--no-textconv", "--no-renames")
                told = git.run("diff-index", *options, base_commit, "--", change.file)
                added, removals[change.file] = hunks(told)
                lines[change.file] = (*added, *removals[change.file])
    deleted = frozenset(change.file for change in changes if change.how == "deleted")
    return ChangedLines(tuple(changes), lines, removals, deleted)


def hunks(difference: str) -> tuple[Lines, Lines]:
    """Return the ranges of new lines in a difference without context, and the neighbours of what was only removed."""
    added, removed = [], []
    for start, count in _HUNK.findall(difference):
        first, many = int(start), int(count) if count else 1
        if many:
            added.append((first, first + many - 1))
        else:
            removed.append((max(1, first), first + 1))
    return tuple(added), tuple(removed)
