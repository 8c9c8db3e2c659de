"""Reads a repository's HEAD commit from the files under `.git` without running git."""

from __future__ import annotations

import re
from pathlib import Path

from runtime.codebase.git.git_folder import GitFolder, find_git_folder, read_bounded, read_bounded_bytes
from runtime.errors import RepositoryError

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_LINK_DEPTH = 5
_MAX_REFERENCE_BYTES = 8192
_MAX_PACKED_BYTES = 100_000_000


def head_commit(root: Path) -> str | None:
    """Return the hash that HEAD resolves to; None without a repository at the root or before its first commit.

    Also None for a repository that `find_git_folder` refuses, or that the user may not read.
    """
    try:
        return _head(root)
    except (RepositoryError, OSError):
        return None


def _head(root: Path) -> str | None:
    folder = find_git_folder(root)
    return None if folder is None or folder.top != root else commit_of(folder)


def commit_of(folder: GitFolder) -> str | None:
    """Return the hash that HEAD resolves to; None before the first commit. Raises RepositoryError and OSError."""
    value = _first_line(folder, folder.private / "HEAD")
    for _ in range(_MAX_LINK_DEPTH):
        if value is None or _HASH.fullmatch(value):
            return value
        reference = value.removeprefix("ref:").strip()
        places = dict.fromkeys((folder.private, folder.common))
        value = next((found for place in places if (found := _read_reference(folder, place, reference))), None)
    return None


def _read_reference(folder: GitFolder, place: Path, reference: str) -> str | None:
    if ".." in reference.split("/"):
        return None
    loose = _first_line(folder, place / reference)
    if loose:
        return loose
    packed = place / "packed-refs"
    data = read_bounded_bytes(packed, _MAX_PACKED_BYTES) if folder.holds(packed) else None
    name = re.escape(reference.encode("utf-8", "surrogateescape"))
    found = re.search(rb"^([0-9a-f]{40,64}) " + name + rb"\r?$", data or b"", re.MULTILINE)
    return found.group(1).decode() if found else None


def _first_line(folder: GitFolder, path: Path) -> str | None:
    text = read_bounded(path, _MAX_REFERENCE_BYTES) if folder.holds(path) else None
    return None if text is None else text.split("\n", 1)[0].strip()
