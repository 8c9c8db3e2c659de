"""Moves disposable files that cannot be used out of the way, so that they can be made anew.

The damaged file stays beside the new one as NAME.damaged until the next damage or `jeeves gc`. Only what can be
recreated is set aside; docs/store.md lists which files those are.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

SUFFIX = ".damaged"
_SIDE_FILES = ("-wal", "-shm")

log = logging.getLogger(__name__)


def set_aside(path: Path, reason: str) -> Path:
    """Rename a file, folder or link to NAME.damaged, in place of an earlier one, and delete its SQLite side files.

    A link is renamed, its target stays as it is. Raises OSError.
    """
    aside = path.with_name(path.name + SUFFIX)
    if os.path.lexists(path):
        _remove(aside)
        path.rename(aside)
    for suffix in _SIDE_FILES:
        _remove(path.with_name(path.name + suffix))
    log.warning("file.set_aside", extra={"path": str(path), "kept": str(aside), "reason": reason})
    return aside


def set_aside_files(folders: Iterable[Path]) -> dict[Path, int]:
    """Return the files that were set aside in these folders and the index folders below them, with their inodes."""
    found: dict[Path, int] = {}
    for folder in folders:
        for pattern in (f"*{SUFFIX}", f"index/*{SUFFIX}", f"index/*/*{SUFFIX}"):
            found |= {path: path.lstat().st_ino for path in folder.glob(pattern)}
    return found


def remove_set_aside(path: Path) -> int:
    """Delete what `set_aside` has kept and return its size in bytes."""
    size = sum(file.lstat().st_size for file in (path.rglob("*") if path.is_dir() else (path,)))
    _remove(path)
    return size


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
