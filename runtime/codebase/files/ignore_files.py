"""Finds the `.gitignore` files below a folder."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from runtime.codebase.files.walk import EXCLUDED_FOLDERS

IGNORE_FILE = ".gitignore"
MAX_FOLDERS = 5_000


def ignore_files_below(root: Path) -> tuple[str, ...]:
    """Return the ignore files of the folders below `root`, without its own, of the 5,000 nearest to the top.

    Links and what is never looked at (caches, packages, repositories of their own) are left out.
    """
    found: list[str] = []
    waiting = deque([""])
    for _ in range(MAX_FOLDERS):
        if not waiting:
            break
        prefix = waiting.popleft()
        try:
            with os.scandir(root / prefix) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:  # gone meanwhile, or not to be read: git does not look into it either
            continue
        names = {entry.name for entry in listed}
        if prefix and ".git" in names:
            continue
        if prefix and IGNORE_FILE in names:
            found.append(f"{prefix}{IGNORE_FILE}")
        folders = (each for each in listed if each.name not in EXCLUDED_FOLDERS and each.is_dir(follow_symlinks=False))
        waiting.extend(f"{prefix}{each.name}/" for each in folders)
    return tuple(found)
