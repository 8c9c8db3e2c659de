"""Remembers how folders were listed, so that a walk lists only those that have changed.

    memory = FolderMemory()
    walk(root, options, memory)   # lists every folder
    walk(root, options, memory)   # lists those whose status differs; the status of each file is read anew

A folder changes its status whenever a name in it is made, removed or renamed; its time of change (`ctime`) cannot be
set by a program. A listing is kept only if folder and ignore file had been still for two seconds when they were read:
a file system with coarse times could give a further change the same ones. A memory belongs to one root and one set of
options.
"""

from __future__ import annotations

import operator
import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from runtime.codebase.files.file_entry import FileEntry
from runtime.codebase.files.ignore_rules import IgnoreRules

STILL_NS = 2_000_000_000
# As many as a walk takes unless settings say otherwise, some 250 bytes each.
MAX_REMEMBERED_FILES = 200_000


class RulesBelow(NamedTuple):
    """Holds the patterns of an ignore file, which apply to paths below a folder, after `skipped` bytes of them."""

    skipped: int
    rules: IgnoreRules


Rules = tuple[RulesBelow, ...]


class Status(NamedTuple):
    """Identifies a file or folder as it is: any change of its names or content changes this."""

    device: int
    inode: int
    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int


# Those of a status, in the same order.
STATUS_FIELDS = operator.attrgetter("st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")


class Listing(NamedTuple):
    """Holds what a walk follows and shows of a folder, as paths below the root.

    `outer`: the rules from above, `rules`: those for what lies below; `patterns`: how many of these are its own.
    """

    folders: tuple[str, ...]
    files: tuple[str, ...]
    outer: Rules = ()
    rules: Rules = ()
    patterns: int = 0


class FolderMemory:
    """Keeps listings by folder, and the regular files of walks. Forgets all of them beyond `max_files` files."""

    def __init__(self, max_files: int = MAX_REMEMBERED_FILES, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._max_files = max_files
        self._files = 0
        self._entries: dict[str, FileEntry] = {}
        self._kept: dict[str, tuple[Status, Status | None, Listing]] = {}
        self._now_ns = now_ns

    def listing(self, root: str, prefix: str, outer: Rules) -> Listing | None:
        """Return the listing of a folder that is unchanged since; None if it is unknown or to be listed anew."""
        kept = self._kept.get(prefix)
        if kept is None:
            return None
        folder, ignore_file, listing = kept
        is_same = listing.outer is outer and folder == status_of(root, prefix)
        if is_same and (ignore_file is None or ignore_file == status_of(root, f"{prefix}.gitignore")):
            return listing
        self._forget(prefix)
        return None

    def keep(self, prefix: str, folder: Status | None, ignore_file: Status | None, listing: Listing) -> None:
        """Keep a listing, with the status that folder and ignore file had before they were read."""
        now_ns = self._now_ns()
        if folder is None or not all(each is None or is_still(each, now_ns) for each in (folder, ignore_file)):
            return
        self._forget(prefix)
        self._files += len(listing.files)
        if self._files > self._max_files:
            self._kept.clear()
            self._files = 0
            return
        self._kept[prefix] = folder, ignore_file, listing

    def unchanged(self, root: str, paths: Sequence[str]) -> list[FileEntry | None]:
        """Return each path's regular file as it was described before, if its size and time are the same; else None."""
        # For each of 100,000 files at every call: no more is done than the status takes.
        entries, lstat, is_regular = self._entries, os.lstat, stat.S_ISREG
        found: list[FileEntry | None] = []
        for path in paths:
            entry = entries.get(path)
            if entry is not None:
                try:
                    status = lstat(f"{root}/{path}")
                except OSError:
                    entry = None  # the walk says what is wrong with it
                else:
                    is_same = entry.mtime_ns == status.st_mtime_ns and entry.size == status.st_size
                    entry = entry if is_same and is_regular(status.st_mode) else None
            found.append(entry)
        return found

    def keep_file(self, entry: FileEntry) -> None:
        """Keep the description of a regular file."""
        if len(self._entries) >= self._max_files:
            self._entries.clear()
        self._entries[entry.path] = entry

    def _forget(self, prefix: str) -> None:
        kept = self._kept.pop(prefix, None)
        if kept is not None:
            self._files -= len(kept[2].files)


def status_of(root: str, path: str) -> Status | None:
    """Return the status of what lies at a path below the root, links not followed; None if it cannot be read."""
    try:
        found = os.lstat(f"{root}/{path}")
    except OSError:
        return None
    is_link = stat.S_ISLNK(found.st_mode)
    # A link leads to a folder whose changes it does not show.
    return None if is_link else Status._make(STATUS_FIELDS(found))


def is_still(status: Status, now_ns: int) -> bool:
    """Return whether a file or folder has been as it is for two seconds, so that a change gives it other times."""
    return max(status.mtime_ns, status.ctime_ns) + STILL_NS <= now_ns
