"""Finds files of a work tree on which git would block: named pipes and devices with names it opens.

git opens some files of the work tree by itself, whatever they are: ignore rules, attributes, names of people, the list
of submodules, and HEAD and references of repositories below it. Opening a pipe waits for somebody who writes to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

_OPENED = frozenset({".gitignore", ".gitattributes", ".mailmap", ".gitmodules"})
_KINDS = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))


def blocking_file(top: Path, is_over: Callable[[], bool]) -> str | None:
    """Return path and kind of a file below `top` on which git would block; None if there is none, or once `is_over`."""
    pending = [(str(top), False)]
    while pending and not is_over():
        folder, is_git = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if (is_git or entry.name in _OPENED) and (kind := _blocks(entry.path)):
                        return f"{os.path.relpath(entry.path, top)} is {kind}"
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, is_git or entry.name == ".git"))
        except OSError:
            continue  # git cannot read it either
    return None


def _blocks(path: str) -> str | None:
    """Return the kind of a file that blocks; links are followed, as git does for some of these files."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (a path from a folder of any size)
    except OSError:
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), None)
