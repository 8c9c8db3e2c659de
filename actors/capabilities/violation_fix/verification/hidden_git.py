"""Hides a linked work tree's link to its repository while tests run in it.

A linked work tree shares branches, configuration and objects with the user's own folder: a test that commits or sets a
name in its working directory would do it there. Without the link the tests find no repository.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LINK = ".git"
_ASIDE = ".git-link"


@contextmanager
def without_git(tree: Path) -> Iterator[None]:
    """Put the link beside the work tree during the block, and back after it; what tests made in its place goes."""
    show_git(tree)
    link, aside = tree / _LINK, _aside(tree)
    if link.is_file() and not link.is_symlink():
        link.rename(aside)
    try:
        yield
    finally:
        show_git(tree)


def show_git(tree: Path) -> None:
    """Put back a link that a killed process had hidden; does nothing where none is hidden."""
    link, aside = tree / _LINK, _aside(tree)
    if not aside.is_file():
        return
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link, ignore_errors=True)
    else:
        link.unlink(missing_ok=True)
    aside.rename(link)


def _aside(tree: Path) -> Path:
    return tree.with_name(f"{tree.name}{_ASIDE}")
