"""Finds files with code that git tracks and a walk of the repository does not list.

An ignore file does not make git forget what it tracks, so a branch could put code where the walk does not look. What
lies in a folder of installed packages, caches or the like is named and not checked: there may be thousands of others'
files there.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from runtime.codebase.files.walk import is_excluded_folder
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.tracked_files import tracked_files
from runtime.errors import RepositoryError
from runtime.primitives.visible_text import visible_line

MAX_NAMED = 5


class TrackedCode(NamedTuple):
    """Holds the paths of tracked files to be checked besides those of the walk, and those that are not.

    `passed_over` lie in folders that hold no source, `unusable` have names that no walk lists. `unknown`: why it is not
    known what git tracks, if so.
    """

    added: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on files that are not checked."""
        told = [f"files that git tracks and also ignores may be missing: {self.unknown}"] if self.unknown else []
        if self.passed_over:
            where = "in folders of packages, environments or caches"
            told.append(f"{_counted(self.passed_over, where)}; name a file to have it checked")
        if self.unusable:
            told.append(_counted(self.unusable, "named with a line break or not in UTF-8"))
        return tuple(told)


def _counted(paths: Sequence[str], which: str) -> str:
    files = f"{len(paths)} tracked file{'s' if len(paths) > 1 else ''}"
    first = ", ".join(visible_line(path) for path in paths[:MAX_NAMED])
    return f"not checked: {files} {which}: {first}{', …' if len(paths) > MAX_NAMED else ''}"


def tracked_code(
    root: Path, listed: Collection[str], is_code: Callable[[str], bool], is_asked: Callable[[str], bool]
) -> TrackedCode:
    """Return what git tracks below a folder and is not among the paths `listed`, without what is there no more."""
    top = root.resolve()
    try:
        tracked = tracked_files(Git(top)) if find_git_folder(top) is not None else []
    except RepositoryError as error:
        return TrackedCode(unknown=error.message)
    folder = functools.cache(functools.partial(_kind_of_folder, top))
    added, passed_over, unusable = [], [], []
    for name in tracked:
        path = os.fsdecode(name)
        if path in listed or not is_code(path) or not is_asked(path):
            continue
        kind = folder(path.rpartition("/")[0])
        if kind == "gone" or not _is_there(top, path):
            continue
        if kind == "excluded":
            passed_over.append(path)
        elif _is_usable(path):
            added.append(path)
        else:
            unusable.append(path)
    return TrackedCode(tuple(added), tuple(passed_over), tuple(unusable))


def _kind_of_folder(root: Path, folder: str) -> str:
    """Return whether a folder is `gone`, as one is that became a link, `excluded` from the walk by name, or `open`."""
    kind, path = "open", ""
    for name in folder.split("/") if folder else ():
        path = f"{path}/{name}"
        try:
            if not stat.S_ISDIR((root / path[1:]).lstat().st_mode):
                return "gone"
        except OSError:
            return "gone"
        if is_excluded_folder(name) or (root / path[1:] / "pyvenv.cfg").exists():
            kind = "excluded"
    return kind


def _is_usable(path: str) -> bool:
    """Return whether a walk would list a file of that name, too."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in path


def _is_there(root: Path, path: str) -> bool:
    try:
        # A folder of that name is a repository of its own.
        return not stat.S_ISDIR((root / path).lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True
