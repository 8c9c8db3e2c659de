"""Says what lies where a linked work tree was made: the tree itself, its files alone, or other things.

The state folder outlives servers, and anybody may put a link, a file or another repository in the place of a tree
meanwhile. What is made, mended or removed there must then stay away from it.
"""

from __future__ import annotations

import os
from pathlib import Path

from runtime.codebase.git.git_folder import read_bounded

# Folders of fixes below the state folder.
FIXES_FOLDER = "fixes"
FIX_TREES = f"{FIXES_FOLDER}/trees"
MAX_POINTER_BYTES = 8_192

_FOREIGN = (
    "the work tree of {branch} was made at {folder}, and something else lies there now: {what}. Nothing was written or "
    "removed there. {do}; then try again"
)
_MOVE = (
    "Move it away, and put the work tree back if there is a copy of it: without one it is made anew from its branch, "
    "and what was not committed is not in it"
)
_UNLINK = "If the files beside it are those of the work tree, remove that .git, and they are linked again as they are"
_MOVED = (
    "the work tree of {branch} was moved from {folder} to {now}: `git worktree move {now} {folder}` in {top} puts it "
    "back with all that was not committed; then try again"
)


def foreign_tree(admin: Path, branch: str, folder: Path) -> str | None:
    """Return what lies in the place of a branch's work tree and is not that tree, and what to do; None without such.

    `admin`: what the repository keeps of the tree. Files without a link are taken for the tree's own.
    """
    marker = folder / ".git"
    do = _MOVE
    if (link := _link_on_the_way(folder, admin)) is not None:
        what = f"{link} is a link to {_target(link)}"
    elif os.path.lexists(folder) and not folder.is_dir():
        what = "it is no folder"
    elif marker.is_symlink():
        what, do = f"its .git is a link to {_target(marker)}", _UNLINK
    elif marker.is_dir():
        what = "it is a repository of its own"
    elif (named := _named(marker)) is not None and named.exists() and not _leads_to(marker, admin):
        what, do = f"its .git leads to {named}, which belongs to another repository or work tree", _UNLINK
    else:
        return None
    return _FOREIGN.format(branch=branch, folder=folder, what=what, do=do)


def moved_tree(admin: Path, branch: str, folder: Path, top: Path) -> str | None:
    """Return that git has moved a work tree elsewhere, and how it comes back; None where it has not."""
    now = named_place(admin)
    if now is None or now == folder or (now / ".git").is_symlink() or not _leads_to(now / ".git", admin):
        return None
    return _MOVED.format(branch=branch, folder=folder, now=now, top=top)


def is_linked(admin: Path, folder: Path) -> bool:
    """Return whether a folder and what the repository keeps of it name one another, with an index."""
    return named_place(admin) == folder and _leads_to(folder / ".git", admin) and (admin / "index").is_file()


def named_place(admin: Path) -> Path | None:
    """Return the folder that the repository says a work tree lies in; None where it says nothing."""
    said = read_bounded(admin / "gitdir", MAX_POINTER_BYTES)
    return None if said is None else Path(os.path.normpath(admin / said.strip())).parent


def _link_on_the_way(folder: Path, admin: Path) -> Path | None:
    """Return a link among the folders that are made here, on either side; those above may be links of the person's."""
    own = [folder, folder.parent, admin, admin.parent]
    if folder.parent.match(FIX_TREES):
        own.append(folder.parent.parent)
    return next((each for each in own if each.is_symlink()), None)


def _target(link: Path) -> str:
    return str(os.path.realpath(link))


def _leads_to(marker: Path, admin: Path) -> bool:
    named = _named(marker)
    # Not `resolve`, which fails where links lead in a circle.
    return named is not None and os.path.realpath(named) == os.path.realpath(admin)


def _named(marker: Path) -> Path | None:
    """Return the folder that a `.git` file names; None where it is no such file."""
    said = read_bounded(marker, MAX_POINTER_BYTES)
    if said is None or not said.startswith("gitdir: "):
        return None
    return marker.parent / said.removeprefix("gitdir: ").rstrip("\r\n")
