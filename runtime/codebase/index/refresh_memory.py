"""Remembers the last refresh of an index, so that one without changes leaves the file alone.

It is remembered by the process that made it, and holds while the index file, its write-ahead log and its seal are what
that refresh left, and the files, the configuration of the project and the options are what it found. Another process
that writes the index, or a reader that meets damage and breaks the seal, makes the next refresh a whole one.
"""

from __future__ import annotations

import dataclasses
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from runtime.codebase.files.folder_memory import FolderMemory
from runtime.codebase.files.project_config import ProjectConfig
from runtime.codebase.files.walk import Walk
from runtime.codebase.index import seal
from runtime.codebase.index.stats import IndexStats

MAX_REPOSITORIES = 4
# As many files as a walk takes unless settings say otherwise.
MAX_ENTRIES = 200_000

FileState = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class IndexState:
    """Identifies the content of an index: its seal, and its write-ahead log if it has one."""

    sealed: str
    log: FileState | None


def index_state(index_path: Path) -> IndexState | None:
    """Return the state of an index; None if its seal is missing or broken."""
    sealed = seal.unbroken(index_path)
    if sealed is None:
        return None
    try:
        found = os.lstat(f"{index_path}-wal")
    except OSError:
        return IndexState(sealed, None)
    return IndexState(sealed, (found.st_ino, found.st_size, found.st_mtime_ns))


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """Holds what a refresh found and left. `compared_ns`: when all files were last compared by content."""

    project: ProjectConfig
    found: Walk
    left: IndexState
    compared_ns: int
    stats: IndexStats

    def again(self, found: Walk, duration_ms: int) -> IndexStats:
        """Return the statistics of a refresh that finds the same files."""
        return dataclasses.replace(
            self.stats,
            parsed_now=0,
            unchanged=len(found.entries),
            removed=0,
            files_added=0,
            files_changed=0,
            files_removed=0,
            duration_ms=duration_ms,
        )

    def holds(self, found: Walk, project: ProjectConfig, state: IndexState | None) -> bool:
        """Return whether a refresh would leave the index as it is."""
        return found == self.found and project == self.project and state == self.left


@dataclass(slots=True)
class RepositoryMemory:
    """Holds what is remembered of one repository with one index and one set of options."""

    folders: FolderMemory = field(default_factory=FolderMemory)
    last: LastRefresh | None = None

    def keep(self, last: LastRefresh) -> None:
        """Remember a refresh, unless it is too large for that."""
        self.last = last if len(last.found.entries) <= MAX_ENTRIES else None


class RefreshMemory:
    """Keeps memories of the repositories that were refreshed last, at most `size` of them."""

    def __init__(self, size: int = MAX_REPOSITORIES) -> None:
        self._size = size
        self._kept: OrderedDict[object, RepositoryMemory] = OrderedDict()

    def of(self, *key: object) -> RepositoryMemory:
        """Return the memory of a repository; `key` names its root, its index and the options."""
        memory = self._kept.setdefault(key, RepositoryMemory())
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return memory
