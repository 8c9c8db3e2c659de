"""Makes linked work trees as git does, beside the folder of a repository, and removes them.

Branches that are made for a task begin with one of our prefixes; the folder of a linked work tree is named by what
follows it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from runtime.codebase.git.git_folder import GitFolder, find_git_folder
from runtime.codebase.git.git_locks import locked, publish
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.tree_places import foreign_tree, is_linked, moved_tree, named_place
from runtime.errors import GitWriteError

BRANCH_PREFIX = "llm_task_"
FIX_PREFIX = "jeeves_fix_"
COLLECTED_PREFIX = "jeeves_fixes_"
PREFIXES = (BRANCH_PREFIX, FIX_PREFIX, COLLECTED_PREFIX)

AFTER_MERGE = (
    "{folder} holds files, and its branch {branch} is gone, as after a merge: they are linked to nothing. Move the "
    "folder away, then try again"
)

# What was needed to have a work tree that works: nothing, all of it, or the links alone.
Restored = Literal["", "made anew", "linked again"]


def task_name(branch: str) -> str:
    """Return what a branch is named after its prefix, by which its linked work tree is found."""
    prefix = next((each for each in PREFIXES if branch.startswith(each)), "")
    return branch.removeprefix(prefix)


def foreign_in_place(top: Path, branch: str, folder: Path) -> str | None:
    """Return what lies in the place of a branch's work tree and is not that tree, and what to do; None without such.

    Raises RepositoryError.
    """
    of_top = find_git_folder(top)
    return None if of_top is None else foreign_tree(_admin_of(of_top, branch), branch, folder)


def refuse_foreign(top: Path, branch: str, folder: Path) -> None:
    """Raise GitWriteError where something else lies in the place of a branch's work tree."""
    if (why := foreign_in_place(top, branch, folder)) is not None:
        raise GitWriteError(why)


def make_linked(top: Path, branch: str, folder: Path) -> Path:
    """Make a linked work tree of a branch as git does, and check its files out."""
    folder = _linked(top, branch, folder)
    check_out(folder)
    return folder


def restore_linked(top: Path, branch: str, folder: Path) -> Restored:
    """Make the work tree of a branch anew where its folder is gone, or link its files again where the links are gone.

    Files that are there stay as they are. A branch that is gone as well was merged, or deleted by hand: what comes next
    tells which. Raises GitWriteError, also where something else lies in its place.
    """
    of_top = find_git_folder(top)
    why = foreign_in_place(top, branch, folder)
    if of_top is not None and why is None and is_linked(_admin_of(of_top, branch), folder):
        return ""
    with GitWriter(top) as git:
        is_gone = git.commit_of(f"refs/heads/{branch}") is None
    if is_gone and why is None and _has_files(folder):
        raise GitWriteError(AFTER_MERGE.format(folder=folder, branch=branch))
    if is_gone:
        return ""
    if why is None and of_top is not None and not _has_files(folder):
        why = moved_tree(_admin_of(of_top, branch), branch, folder, top)
    if why is not None:
        raise GitWriteError(why)
    if not _has_files(folder):
        make_linked(top, branch, folder)
        return "made anew"
    link_again(top, branch, folder)
    return "linked again"


def link_again(top: Path, branch: str, folder: Path) -> None:
    """Link the files of a work tree to its repository again where they are not, as they are. Raises GitWriteError."""
    of_top = find_git_folder(top)
    if of_top is None or not is_linked(_admin_of(of_top, branch), folder.resolve()):
        check_out(_linked(top, branch, folder), files_stay=True)


def check_out(folder: Path, *, files_stay: bool = False) -> None:
    """Write the index of a work tree's HEAD, and all its files unless `files_stay` as they are."""
    found = find_git_folder(folder)
    assert found is not None
    with locked(found, "index") as locks, GitWriter(folder) as git:
        git.run("read-tree", "--reset", *([] if files_stay else ["-u"]), "HEAD")
        if files_stay:
            git.run("update-index", "-q", "--refresh", accepted=(0, 1))
        publish(locks["index"], (git.private / "index").read_bytes())


def _linked(top: Path, branch: str, folder: Path) -> Path:
    """Write what links a folder and a repository, as git does, and return the folder, resolved."""
    refuse_foreign(top, branch, folder)
    of_top = find_git_folder(top)
    assert of_top is not None
    admin = _admin_of(of_top, branch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        admin.mkdir(parents=True, exist_ok=True)
        _write(admin / "HEAD", f"ref: refs/heads/{branch}\n")
        _write(admin / "commondir", "../..\n")
        _write(admin / "gitdir", f"{folder}/.git\n")
        _write(folder / ".git", f"gitdir: {admin}\n")
    except OSError as error:
        raise GitWriteError(f"no work tree can be made at {folder}: {error.strerror}") from error
    return folder


def _write(path: Path, text: str) -> None:
    """Write a small file, and never through a link that was put in its place."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
    with os.fdopen(opened, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _admin_of(of_top: GitFolder, branch: str) -> Path:
    return of_top.common / "worktrees" / branch


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(each.name != ".git" for each in folder.iterdir())


def remove_linked(top: Path, branch: str, folders: Collection[Path]) -> None:
    """Remove the linked work tree of a branch, if it is the one that was made for it below one of `folders`.

    What the repository says of its place decides nothing: it could name any folder of this machine. What else lies
    there by now, or behind a link, stays.
    """
    of_top = find_git_folder(top)
    if of_top is None:
        return
    admin = _admin_of(of_top, branch)
    named = named_place(admin)
    for place in folders:
        folder = place / task_name(branch)
        if named is not None and foreign_tree(admin, branch, folder) is None and named == folder.resolve():
            shutil.rmtree(named, ignore_errors=True)
            shutil.rmtree(admin, ignore_errors=True)
