"""Removes the compiled modules of Python that lie beside sources, where no commit holds them.

An interpreter believes them if their head names the time and size of the source, and Python makes them anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

_FOLDER = "__pycache__"
_COMPILED = re.compile(r".+\.py[co](?:\.\d+)?")


def remove_compiled(root: Path, files: Iterable[str], kept: Collection[str]) -> tuple[str, ...]:
    """Remove what is compiled beside some files of a folder, but for those `kept`; return what is still there.

    A link in the place of the folder for them is removed; what it leads to belongs to somebody else.
    """
    top = Path(os.path.realpath(root))
    left: list[str] = []
    for folder in sorted({str(PurePosixPath(file).parent) for file in files}):
        place = top / folder
        # Where a folder is a link, what git knows below it is gone, and told as such.
        if os.path.realpath(place) == str(place) and (place == top or place.is_relative_to(top)):
            left += _removed(place / _FOLDER, str(PurePosixPath(folder) / _FOLDER), kept)
    return tuple(left)


def _removed(place: Path, name: str, kept: Collection[str]) -> list[str]:
    try:
        if place.is_symlink():
            place.unlink()
        opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []
    except OSError:
        return [f"{name}/"]
    try:
        with os.scandir(opened) as entries:
            found = sorted(each.name for each in entries if not each.is_dir(follow_symlinks=False))
        compiled = [each for each in found if _COMPILED.fullmatch(each) and f"{name}/{each}" not in kept]
        return [f"{name}/{each}" for each in compiled if not _is_gone(opened, each)]
    finally:
        os.close(opened)


def _is_gone(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
