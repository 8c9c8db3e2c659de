"""Finds the work tree that a linked one belongs to."""

from __future__ import annotations

from pathlib import Path

from runtime.codebase.git.git_folder import find_git_folder
from runtime.errors import RepositoryError


def main_tree_of(folder: Path) -> Path | None:
    """Return the work tree of the repository whose linked work tree a folder is; None for any other folder.

    Only a folder that the repository itself names is one: what a folder says of itself decides nothing.
    """
    try:
        found = find_git_folder(folder.resolve())
    except RepositoryError:
        return None
    if found is None or found.top != folder.resolve() or found.private == found.common or found.common.name != ".git":
        return None
    return found.common.parent
