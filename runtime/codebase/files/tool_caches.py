"""Recognises what tools keep for themselves beside sources, as compiled modules.

A folder alone makes no cache: what could be loaded in the place of a source counts as any other file. So do folders of
dependencies and of what is built (`node_modules`, `.venv`, `build`), and those that hold what a person keeps.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from runtime.codebase.files.regular_file import read_start

# A compiled module, or one that is just being written.
_COMPILED = re.compile(r".+\.py[co](?:\.\d+)?|.+\.nb[ic]")
_LOADABLE = (
    r".+\.(?:py\w?|pth|so|dll|dylib|node|[cm]?[jt]sx?|sh|bash|zsh|fish|pl|rb|php|lua|exe|bat|cmd|ps1|jar|class"
    r"|toml|cfg|ini)"
)
_NOT_LOADABLE = re.compile(rf"(?!{_LOADABLE}$).+", re.IGNORECASE)
CACHE_FOLDERS = {
    "__pycache__": _COMPILED,
    ".pytest_cache": _NOT_LOADABLE,
    ".mypy_cache": _NOT_LOADABLE,
    ".ruff_cache": _NOT_LOADABLE,
    ".hypothesis": _NOT_LOADABLE,
    ".import_linter_cache": _NOT_LOADABLE,
}
# A compiled module begins with four bytes of a version, then these: it is used whatever became of its source.
_HEAD_BYTES = 8
_UNCHECKED = b"\x01\x00\x00\x00"


def cache_folder(file: str) -> str:
    """Return the name of the cache that a path lies in, where it is named as files in there are; empty otherwise."""
    *folders, name = PurePosixPath(file).parts or ("",)
    for folder in folders:
        if (fits := CACHE_FOLDERS.get(folder)) is not None:
            return folder if fits.fullmatch(name) else ""
    return ""


def is_tool_cache(root: Path, file: str) -> bool:
    """Return whether a file is what a tool keeps for itself, and stands for no source that it was not made of.

    Links are none, nor are compiled modules that an interpreter uses without a look at their source.
    """
    folder = cache_folder(file)
    if not folder:
        return False
    path = root / file
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        return folder != "__pycache__" or read_start(path, _HEAD_BYTES)[4:] != _UNCHECKED
    except (OSError, ValueError):
        return False


def caches_told(files: Iterable[str]) -> str:
    """Return how many files of which caches there are, as part of a sentence."""
    counts = Counter(cache_folder(file) for file in files)
    return ", ".join(f"{n} file{'' if n == 1 else 's'} in {folder}" for folder, n in sorted(counts.items()) if folder)
