"""Opens a work tree of its own for each fix, and collects their commits on one branch.

    tree = open_side_tree(root, "jeeves_fix_7-1", trees / "7-1", base)       # its own branch, the files of `base`
    commit = commit_change(tree, ["a.py"], "Shorten f", "C901-…", who)
    collected = open_side_tree(root, "jeeves_fixes_7", trees / "7", base)
    pick_commit(collected, commit, who)                                      # raises GitWriteError on a conflict

The user's own folder is not touched, dirty or not, and no program of the repository runs. Each function can be called
again after a kill: what was done is seen and not done twice.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from runtime.codebase.git.commits import MAX_NAMED, task_branches
from runtime.codebase.git.git_folder import GitFolder, find_git_folder
from runtime.codebase.git.git_locks import locked, publish
from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter
from runtime.codebase.git.identity import Identity
from runtime.codebase.git.linked_trees import PREFIXES, check_out, make_linked, refuse_foreign, remove_linked, task_name
from runtime.codebase.git.work_trees import WorkTree, changes_since, printable
from runtime.errors import GitWriteError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


def open_side_tree(root: Path, branch: str, folder: Path, base_commit: str) -> WorkTree:
    """Return the linked work tree of a branch, made now from a commit or before; GitWriteError where it cannot be.

    `folder` is named as the branch is after its prefix (`linked_trees`). A branch that exists must hold `base_commit`.
    """
    name = task_name(branch)
    if not branch.startswith(PREFIXES) or not _NAME.fullmatch(name) or folder.name != name:
        raise GitWriteError(f"{branch} with the folder {folder.name} cannot be a work tree beside a repository")
    refuse_foreign(root, branch, folder)
    with GitWriter(root) as git:
        known = git.commit_of(f"refs/heads/{branch}")
        if known is None:
            if git.commit_of(base_commit) != base_commit:
                raise GitWriteError(f"{base_commit} is no commit of {root}")
            git.set_branch(branch, base_commit, None)
        elif git.status_of("merge-base", "--is-ancestor", base_commit, known)[1] != 0:
            raise GitWriteError(f"branch {branch} exists already without the commit {base_commit}; delete or rename it")
    if not (folder / ".git").is_file():
        folder = make_linked(root, branch, folder)
    folder = folder.resolve()
    found = find_git_folder(folder)
    if found is not None and not (found.private / "index").exists():
        # The process that made the work tree died before it had written the files.
        check_out(folder)
    return WorkTree(str(folder), branch, "", base_commit, is_linked=True)


def restore_tree(tree: WorkTree, kept: Collection[str] = ()) -> tuple[str, ...]:
    """Give every file of a work tree but `kept` the content of its HEAD, remove new ones, and return which it were.

    Files that git ignores stay.
    """
    with locked(_folder_of(tree), "index") as locks, GitWriter(Path(tree.folder)) as git:
        top = git.folder.top
        changes = [each for each in changes_since(git, "HEAD", lambda _file: False) if each.file not in kept]
        if not changes:
            return ()
        for change in changes:
            place = top / change.file.rstrip("/")
            if change.how == "added" or not place.is_file() or place.is_symlink():
                _remove(place)
        git.run("read-tree", "--reset", "HEAD")
        back = [change.file for change in changes if change.how != "added"]
        for start in range(0, len(back), MAX_ARGUMENTS):
            git.run("checkout-index", "--force", "--", *back[start : start + MAX_ARGUMENTS])
        git.status_of("update-index", "-q", "--refresh")
        publish(locks["index"], (git.private / "index").read_bytes())
        return tuple(printable(change.file) for change in changes)


def pick_commit(tree: WorkTree, commit: str, who: Identity) -> str:
    """Make a commit again on top of a branch that is out in a work tree; return the new commit, or the one made before.

    Its author is `who`, its message stays. GitWriteError with `conflicts`, and nothing has changed then. What is not
    committed in the work tree is lost.
    """
    with locked(_folder_of(tree), "index") as locks, GitWriter(Path(tree.folder), identity=who) as git:
        head = _head_of(git, tree)
        picked = _picked_before(git, tree, head, commit) or _picked(git, tree, head, commit)
        if picked != head:
            git.set_branch(tree.branch, picked, head)
        git.run("read-tree", "--reset", "-u", picked)
        publish(locks["index"], (git.private / "index").read_bytes())
        return picked


def drop_commit(tree: WorkTree, commit: str) -> str:
    """Take the last commit of a branch back, with its files in the work tree; return the commit below it.

    GitWriteError if another commit is the last one, and the branch stays as it is.
    """
    with locked(_folder_of(tree), "index") as locks, GitWriter(Path(tree.folder)) as git:
        head = _head_of(git, tree)
        if head != commit or head == tree.base_commit:
            raise GitWriteError(f"{commit} is not the last commit of {tree.branch}, and was not taken back")
        below = git.run("rev-parse", f"{commit}^").strip()
        git.set_branch(tree.branch, below, head)
        git.run("read-tree", "--reset", "-u", below)
        publish(locks["index"], (git.private / "index").read_bytes())
        return below


def close_side_tree(root: Path, tree: WorkTree, *, keeps_branch: bool = False) -> None:
    """Remove a linked work tree, with its branch unless that is kept; done before, it is not done twice."""
    remove_linked(root, tree.branch, [Path(tree.folder).parent])
    if keeps_branch:
        return
    with GitWriter(root) as git:
        head = git.commit_of(f"refs/heads/{tree.branch}")
        if head is not None:
            git.delete_reference(f"refs/heads/{tree.branch}", head)


def idle_trees(root: Path, prefix: str, before_s: float) -> list[str]:
    """Return the branches with a prefix whose work trees, if they have one, were not touched since a time."""
    found = find_git_folder(root)
    if found is None:
        return []
    return [
        branch
        for branch in sorted(task_branches(root, prefix))
        if _touched_s(found.common / "worktrees" / branch) < before_s
    ]


def _touched_s(admin: Path) -> float:
    touched = 0.0
    for name in ("HEAD", "index", "gitdir"):
        with suppress(OSError):
            touched = max(touched, (admin / name).lstat().st_mtime)
    return touched


def _folder_of(tree: WorkTree) -> GitFolder:
    folder = find_git_folder(Path(tree.folder))
    if folder is None or str(folder.top) != tree.folder:
        raise GitWriteError(f"{tree.folder} is no work tree any more; open it again")
    return folder


def _head_of(git: GitWriter, tree: WorkTree) -> str:
    out = (git.private / "HEAD").read_text().strip()
    head = git.commit_of("HEAD")
    if out != f"ref: refs/heads/{tree.branch}" or head is None:
        raise GitWriteError(f"{tree.folder} is not on branch {tree.branch} any more ({out}); switch back to it")
    return head


def _picked_before(git: GitWriter, tree: WorkTree, head: str, commit: str) -> str | None:
    """Return the head if a commit was picked before, as ahead of a kill; its whole message tells."""
    if head in (tree.base_commit, commit):
        return head if head == commit else None
    wanted = git.run("show", "--no-patch", "--format=%B", commit)
    told = git.run("show", "--no-patch", "--format=%H%n%B%x00", f"{tree.base_commit}..{head}")
    entries = (entry.lstrip("\n").partition("\n") for entry in told.split("\0"))
    return head if any(body.strip() == wanted.strip() for _, _, body in entries) else None


def _picked(git: GitWriter, tree: WorkTree, head: str, commit: str) -> str:
    parent = git.commit_of(f"{commit}^")
    if parent is None:
        raise GitWriteError(f"{commit} is no commit with one before it")
    if parent == head:
        return commit
    text = git.private / "message"
    text.write_text("The branch as it is, on the commit that the change was made on.\n", encoding="utf-8")
    # git merges from the nearest common commit, which this makes the parent of the one that is picked.
    ours = git.run("commit-tree", f"{head}^{{tree}}", "-p", parent, "-F", str(text)).strip()
    told, status = git.status_of("merge-tree", "--write-tree", "--name-only", "--no-messages", ours, commit)
    merged, *conflicts = told.strip().split("\n")
    if status != 0:
        raise GitWriteError(
            f"{commit} cannot be put on {tree.branch}: conflicts in {', '.join(conflicts[:MAX_NAMED])}; make the "
            "change again on top of it",
            conflicts=conflicts,
        )
    text.write_text(git.run("show", "--no-patch", "--format=%B", commit), encoding="utf-8", errors="surrogateescape")
    return git.run("commit-tree", merged, "-p", head, "-F", str(text)).strip()


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
