"""Knows which lines of a workspace differ from the commit that the change began at."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.files.regular_file import read_start
from runtime.codebase.git.differences import WHOLE_FILE, differences, marked_lines, old_text
from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter
from runtime.codebase.git.work_trees import Change, IsOurs, changes_since, printable
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.bodies.empty_bodies import code_lines

Lines = tuple[tuple[int, int], ...]
Replaced = tuple[tuple[int, int, tuple[str, ...]], ...]

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_REMOVAL = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+),0 @@", re.MULTILINE)
_MODE = re.compile(r"^old mode \d+\nnew mode \d+$", re.MULTILINE)
# As many bytes as git itself looks at to tell a binary file; what .gitattributes say of it does not count.
_HEAD_BYTES = 8_000
MAX_DIGESTED_BYTES = 1 << 26
# Of files that are gone only the lines are wanted, to know those that were moved.
MAX_DELETED_FILE_BYTES, MAX_DELETED_BYTES = 1_000_000, 20_000_000
# A file that is wholly new counts with every line.
ALL_LINES: Lines = ((1, 1 << 31),)


class ChangedLines(msgspec.Struct, frozen=True):
    """Holds the files that differ, with the lines that may prove something about each: file → ranges, inclusive.

    `removals`: the lines before and behind what was only removed, which are among them. `deleted`: files that are gone.
    `replaced`: for each range of new lines the old ones in whose place they stand. `whole`: files whose mode differs,
    and binary ones, which differ as a whole: their first line stands for them. `removed`: all lines that were taken out
    of files, also of those that are gone, without blanks at their ends. `blank_removals`: those of `removals` where
    nothing but blank lines, comments and documentation strings was taken out. `modes`: those of `whole` that are so by
    their mode.
    """

    changes: tuple[Change, ...]
    lines: Mapping[str, Lines]
    removals: Mapping[str, Lines]
    deleted: frozenset[str]
    replaced: Mapping[str, Replaced] = {}
    whole: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    blank_removals: Mapping[str, Lines] = {}
    modes: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """All files that differ, in order."""
        return tuple(change.file for change in self.changes)

    def proves(self, file: str, start: int, end: int) -> bool:
        """Return whether a range overlaps a change of a file."""
        return self.proves_whole(file, start) or any(
            first <= end and start <= last for first, last in self.lines.get(file, ())
        )

    def proves_whole(self, file: str, start: int) -> bool:
        """Return whether a range begins at the line that stands for a file which differs as a whole."""
        return start == 1 and file in self.whole

    def before(self, file: str, start: int, end: int) -> tuple[str, ...]:
        """Return the old lines in whose place lines of a range of a file stand."""
        pairs = self.replaced.get(file, ())
        return tuple(line for first, last, old in pairs if first <= end and start <= last for line in old)

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
        replaced: dict[str, Replaced] = {}
        removals: dict[str, Lines] = {}
        removed: set[str] = set()
        blank: dict[str, Lines] = {}
        whole = {change.file for change in found if change.how != "deleted" and is_binary_file(folder, change.file)}
        modes: set[str] = set()
        named = [change for change in found if printable(change.file) == change.file]
        lines.update({change.file: ALL_LINES for change in named if change.how == "added"})
        compared = [each.file for each in named if each.how not in {"added", "deleted"} and each.file not in whole]
        told_of = differences(git, base_commit, compared)
        for file, told in told_of.items():
            added, removals[file] = hunks(told)
            lines[file] = (*added, *removals[file])
            replaced[file] = replacements(told)
            removed.update(_taken_out(told))
            if _MODE.search(told.partition("\n@@ ")[0]):
                modes.add(file)
        gone = [change.file for change in named if change.how == "deleted"]
        for told in differences(git, base_commit, _readable(git, base_commit, gone)).values():
            removed.update(_taken_out(told))
        with_removals = [file for file in told_of if removals[file]]
        for file, told in differences(git, base_commit, with_removals, WHOLE_FILE).items():
            blank[file] = blank_removals(told_of[file], code_lines(old_text(told), file, bare_strings=False))
    deleted = frozenset(change.file for change in changes if change.how == "deleted")
    as_whole, by_mode, lost = frozenset(whole | modes), frozenset(modes), frozenset(removed)
    return ChangedLines(tuple(changes), lines, removals, deleted, replaced, as_whole, lost, blank, by_mode)


def _taken_out(difference: str) -> set[str]:
    return {line[1:].strip() for line in marked_lines(difference) if line[:1] == "-"}


def _readable(git: GitWriter, commit: str, files: Sequence[str]) -> list[str]:
    """Return those files of a commit of which the lines are looked at: no large ones, and not too many together."""
    left, found = MAX_DELETED_BYTES, []
    for start in range(0, len(files), MAX_ARGUMENTS):
        told = git.run("ls-tree", "-l", "-z", commit, "--", *files[start : start + MAX_ARGUMENTS])
        for about, _, file in (row.partition("\t") for row in told.split("\0") if row):
            size = about.split()[-1]
            if size.isdecimal() and int(size) <= min(left, MAX_DELETED_FILE_BYTES):
                left -= int(size)
                found.append(file)
    return found


def is_binary_file(folder: Path, file: str) -> bool:
    """Return whether a file is one of bytes; a zero byte makes none of one in a language that is parsed."""
    path = folder / file
    try:
        return language_at(file).grammar is None and not path.is_symlink() and b"\0" in read_start(path, _HEAD_BYTES)
    except (OSError, ValueError):
        return False


def digests_of(folder: Path, files: Iterable[str], most_bytes: int = MAX_DIGESTED_BYTES) -> dict[str, str]:
    """Return file → SHA-256 of its content; that of a link is of where it leads, and what is no file has none.

    Files of more than `most_bytes`, 64 MiB by default, are known by their head, size and time of modification.
    """
    return {file: _digest(folder / file, most_bytes) for file in files}


def _digest(path: Path, most_bytes: int) -> str:
    try:
        if path.is_symlink():
            return hashlib.sha256(f"link {path.readlink()}".encode("utf-8", "surrogateescape")).hexdigest()
        digest = hashlib.sha256(read_start(path, most_bytes))
        stat = path.stat()
    except (OSError, ValueError):
        return ""
    if stat.st_size > most_bytes:
        digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def without_own(changed: ChangedLines, folder: Path, own_edits: Mapping[str, str]) -> ChangedLines:
    """Return what differs beside the user's own edits: file → digest when the session began.

    One that is no longer as the user left it counts, also where it is as it was committed again.
    """
    if not own_edits:
        return changed
    now = digests_of(folder, own_edits)
    same = {file for file, digest in own_edits.items() if now[file] == digest}
    lost = [file for file in own_edits if file not in same and file not in changed.files]
    return ChangedLines(
        tuple(sorted((*(each for each in changed.changes if each.file not in same), *map(_undone, lost)))),
        {file: lines for file, lines in changed.lines.items() if file not in same},
        {file: lines for file, lines in changed.removals.items() if file not in same},
        changed.deleted - same,
        changed.replaced,
        changed.whole - same,
        changed.removed,
        changed.blank_removals,
        changed.modes,
    )


def _undone(file: str) -> Change:
    return Change(file, "modified")


def hunks(difference: str) -> tuple[Lines, Lines]:
    """Return the ranges of new lines in a difference without context, and the neighbours of what was only removed."""
    added, removed = [], []
    for start, count in _HUNK.findall(difference):
        first, many = int(start), int(count) if count else 1
        if many:
            added.append((first, first + many - 1))
        else:
            removed.append(_beside(first))
    return tuple(added), tuple(removed)


def _beside(line: int) -> tuple[int, int]:
    """Return the lines before and behind what was removed after a line."""
    return max(1, line), line + 1


def blank_removals(difference: str, old: Sequence[str]) -> Lines:
    """Return the neighbours of what was only removed where nothing of it was code; `old`: the code of the old lines."""
    found = []
    for first, many, at in _REMOVAL.findall(difference):
        start = int(first) - 1
        if not any(line.strip() for line in old[start : start + (int(many) if many else 1)]):
            found.append(_beside(int(at)))
    return tuple(found)


def replacements(difference: str) -> Replaced:
    """Return the ranges of new lines in a difference without context, each with the lines that it replaces."""
    found = []
    heads = list(_HUNK.finditer(difference))
    ends = [*(head.start() for head in heads[1:]), len(difference)]
    # A file whose mode alone differs has no hunk.
    for head, end in zip(heads, ends, strict=False):
        first, many = int(head.group(1)), int(head.group(2)) if head.group(2) else 1
        old = [line[1:] for line in difference[head.end() : end].split("\n")[1:] if line.startswith("-")]
        if many and old:
            found.append((first, first + many - 1, tuple(old)))
    return tuple(found)
