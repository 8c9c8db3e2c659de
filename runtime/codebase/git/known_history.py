"""Remembers what git printed about the history of a commit while HEAD stays where it is.

Walking a long history takes git a good part of a second, and a coding agent asks about the same file again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from runtime.codebase.git.git_folder import GitFolder
from runtime.codebase.git.git_settings import carried_settings
from runtime.codebase.git.head import commit_of
from runtime.errors import RepositoryError
from runtime.primitives.sized_cache import SizedCache

MAX_REMEMBERED_CHARS = 8_000_000
# What changes the history of a commit that stays: shallow clones are deepened, commits grafted and replaced.
_DECIDING = ("shallow", "info/grafts", "packed-refs", "refs/replace")

_MAIL_MAP = ".mailmap"


class HistoryState(NamedTuple):
    """Identifies all that decides the history of HEAD: equal states have the same history."""

    place: str
    commit: str
    settings: str
    files: tuple[tuple[int, int, int] | None, ...]


class HistoryMemory:
    """Keeps what commands printed, by the state of the history and the words of the command; for several threads."""

    def __init__(self) -> None:
        """Create it empty."""
        self._printed: SizedCache[tuple[HistoryState, Sequence[str]], str] = SizedCache(MAX_REMEMBERED_CHARS)

    def get(self, state: HistoryState, command: Sequence[str]) -> str | None:
        """Return what a command printed in that state before; None if it was not run, or was forgotten."""
        return self._printed.get((state, command))

    def put(self, state: HistoryState, command: Sequence[str], printed: str) -> None:
        """Keep what a command printed in a state."""
        self._printed.put((state, command), printed, len(printed) + sum(map(len, command)))


def history_state(folder: GitFolder) -> HistoryState | None:
    """Return the state of a repository's history; None before the first commit, or where HEAD cannot be read."""
    try:
        commit = commit_of(folder)
        settings = carried_settings(folder.settings)
    except (RepositoryError, OSError):
        return None
    if commit is None:
        return None
    # The names of authors are those of the mail map in the work tree.
    files = tuple(_identity(path) for path in (*(folder.common / name for name in _DECIDING), folder.top / _MAIL_MAP))
    return HistoryState(f"{folder.private}\0{folder.top}", commit, settings, files)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)
