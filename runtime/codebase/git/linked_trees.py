"""Makes linked work trees as git does, beside the folder of a repository, and removes them.

Branches that are made for a task begin with one of our prefixes; the folder of a linked work tree is named by what
follows it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from runtime.codebase.git.git_folder import GitFolder, find_git_folder, read_bounded
from runtime.codebase.git.git_locks import locked, publish
from runtime.codebase.git.git_writer import GitWriter
from runtime.errors import GitWriteError

BRANCH_PREFIX = "llm_task_"
FIX_PREFIX = "jeeves_fix_"
COLLECTED_PREFIX = "jeeves_fixes_"
PREFIXES = (BRANCH_PREFIX, FIX_PREFIX, COLLECTED_PREFIX)
# Folders of fixes below the state folder.
FIXES_FOLDER = "fixes"
FIX_TREES = f"{FIXES_FOLDER}/trees"
MAX_POINTER_BYTES = 8_192

# What was needed to have a work tree that works: nothing, all of it, or the links alone.
Restored = Literal["", "made anew", "linked again"]


def task_name(branch: str) -> str:
    """Return what a branch is named after its prefix, by which its linked work tree is found."""
    prefix = next((each for each in PREFIXES if branch.startswith(each)), "")
    return branch.removeprefix(prefix)


def make_linked(top: Path, branch: str, folder: Path) -> Path:
    """Make a linked work tree of a branch as git does, and check its files out."""
    folder = _linked(top, branch, folder)
    check_out(folder)
    return folder


def restore_linked(top: Path, branch: str, folder: Path) -> Restored:
    """Make the work tree of a branch anew where its folder is gone, or link its files again where the links are gone.

    Files that are there stay as they are. A branch that is gone as well was merged, or deleted by hand: what comes next
    tells which. Raises GitWriteError.
    """
    of_top = find_git_folder(top)
    if (folder / ".git").is_file() and of_top is not None and (_admin_of(of_top, branch) / "index").is_file():
        return ""
    with GitWriter(top) as git:
        if git.commit_of(f"refs/heads/{branch}") is None:
            return ""
    if not _has_files(folder):
        make_linked(top, branch, folder)
        return "made anew"
    check_out(_linked(top, branch, folder), files_stay=True)
    return "linked again"


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
    of_top = find_git_folder(top)
    assert of_top is not None
    admin = _admin_of(of_top, branch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        admin.mkdir(parents=True, exist_ok=True)
        (admin / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        (admin / "commondir").write_text("../..\n")
        (admin / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {admin}\n")
    except OSError as error:
        raise GitWriteError(f"no work tree can be made at {folder}: {error.strerror}") from error
    return folder


def _admin_of(of_top: GitFolder, branch: str) -> Path:
    return of_top.common / "worktrees" / branch


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(each.name != ".git" for each in folder.iterdir())


def remove_linked(top: Path, branch: str, folders: Collection[Path]) -> None:
    """Remove the linked work tree of a branch, if it is the one that was made for it below one of `folders`.

    What the repository says of its place decides nothing: it could name any folder of this machine.
    """
    of_top = find_git_folder(top)
    if of_top is None:
        return
    admin = _admin_of(of_top, branch)
    said = read_bounded(admin / "gitdir", MAX_POINTER_BYTES)
    named = Path((said or "").strip()).parent
    for place in folders:
        made = place.resolve() / task_name(branch)
        if said is not None and not made.is_symlink() and named == made:
            shutil.rmtree(made, ignore_errors=True)
            shutil.rmtree(admin, ignore_errors=True)
