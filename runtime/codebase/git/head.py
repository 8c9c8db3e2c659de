"""The commit that a repository's work tree is at, read from the files under `.git` without running git."""

from __future__ import annotations

import re
from pathlib import Path

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_LINK_DEPTH = 5


def head_commit(root: Path) -> str | None:
    """The hash that HEAD names; None without a repository at the root, or before its first commit."""
    git = _git_folder(root)
    if git is None:
        return None
    common = _first_line(git / "commondir")
    folders = [git, (git / common).resolve()] if common else [git]
    value = _first_line(git / "HEAD")
    for _ in range(_MAX_LINK_DEPTH):
        if value is None or _HASH.fullmatch(value):
            return value
        reference = value.removeprefix("ref:").strip()
        value = next((found for folder in folders if (found := _read_reference(folder, reference))), None)
    return None


def _git_folder(root: Path) -> Path | None:
    marker = root / ".git"
    if marker.is_dir():
        return marker
    pointer = _first_line(marker)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    return (root / pointer.removeprefix("gitdir:").strip()).resolve()


def _read_reference(git: Path, reference: str) -> str | None:
    if ".." in reference.split("/"):
        return None
    loose = _first_line(git / reference)
    if loose:
        return loose
    packed = git / "packed-refs"
    if not packed.is_file():
        return None
    for line in packed.read_text(encoding="utf-8", errors="replace").splitlines():
        hashed, _, name = line.partition(" ")
        if name == reference:
            return hashed
    return None


def _first_line(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0].strip()
    except OSError:
        return None
