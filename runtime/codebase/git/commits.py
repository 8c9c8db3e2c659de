"""Commits a change to its branch, merges it into the one it came from, and lays branches aside.

Each of these can be repeated after a crash: what was done before is seen and not done twice.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.git.base_merges import is_within, only_merged_base, way_back, with_merged_base
from runtime.codebase.git.foreign_commits import merge_subject, merged_files
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_locks import locked, publish
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.identity import Identity
from runtime.codebase.git.index_marks import show_hidden
from runtime.codebase.git.linked_trees import (
    BRANCH_PREFIX,
    PREFIXES,
    link_again,
    refuse_foreign,
    remove_linked,
    task_name,
)
from runtime.codebase.git.work_trees import IsOurs, WorkTree, changes_since, printable, uncommitted
from runtime.errors import GitWriteError

TRASH = "refs/jeeves/trash"
KEPT_DAYS = 30
MAX_NAMED = 20
TRAILER = "Jeeves-Session"


class LaidAside(msgspec.Struct, frozen=True):
    """Names a branch that was deleted, and where its head is kept."""

    branch: str
    commit: str
    kept_as: str

    @property
    def restoring(self) -> str:
        """The command that brings the branch back."""
        return f"git branch {self.branch} {self.kept_as}"


def commit_change(
    tree: WorkTree,
    files: Sequence[str],
    message: str,
    session_id: str,
    who: Identity,
    known_head: str = "",
    *,
    trailer: str = TRAILER,
    expected_tree: str = "",
    permitted: Collection[str] | None = None,
) -> str:
    """Commit the base commit with `files` as they are in the work tree to its branch; return the commit.

    `known_head`: the session's last commit, else the base commit, on which this one is made; `trailer`: the key under
    which the message names the session; `expected_tree`: what the content must be, if that is known. Where the branch
    holds that very content already, its head is returned. GitWriteError where nothing differs, the branch is not the
    one that is out or holds commits that the session did not make, or a file needs a filter of git.
    """
    known = known_head or tree.base_commit
    folder = find_git_folder(Path(tree.folder))
    if folder is None:
        raise GitWriteError(f"{tree.folder} is no work tree any more; resume the session to make it anew")
    with locked(folder, "index") as locks, GitWriter(folder.top, identity=who) as git:
        _check_branch(git, tree)
        head = git.commit_of("HEAD")
        if head is None:
            raise GitWriteError(f"branch {tree.branch} is gone; `git branch {tree.branch} {known}` brings it back")
        tree = with_merged_base(git, tree)
        written = _write_tree(git, tree.base_commit, files)
        if expected_tree and written != expected_tree:
            raise GitWriteError(
                "the files changed after they had been reviewed and checked; review them and submit again"
            )
        told = f"{trailer}: {session_id}"
        if not only_merged_base(git, tree, known, head):
            _check_own(git, tree, head, known, written, told)
        if head != known and permitted is not None:
            _check_permitted(git, tree, tree.base_commit, head, known, permitted)
        if written == git.run("rev-parse", "HEAD^{tree}").strip():
            publish(locks["index"], (git.private / "index").read_bytes())
            if head != tree.base_commit:
                return head
            raise GitWriteError("there is nothing to commit: the files are as they were")
        text = git.private / "message"
        text.write_text(f"{message.strip()}\n\n{told}\n", encoding="utf-8")
        commit = git.run("commit-tree", written, "-p", head, "-F", str(text)).strip()
        git.set_branch(tree.branch, commit, head)
        publish(locks["index"], (git.private / "index").read_bytes())
        return commit


def _write_tree(git: GitWriter, commit: str, files: Sequence[str]) -> str:
    """Write the tree of a commit with `files` as they are in the work tree; return its hash."""
    refuse_filtered(git, files)
    show_hidden(git, frozenset(files))
    git.distrust_index()
    git.run("read-tree", "--reset", commit)
    listed = git.private / "files-to-add"
    listed.write_bytes(b"\0".join(file.encode("utf-8", "surrogateescape") for file in files))
    git.run("add", "-A", f"--pathspec-from-file={listed}", "--pathspec-file-nul")
    return git.run("write-tree").strip()


class TreeOfFiles(msgspec.Struct, frozen=True):
    """Names the tree that a folder's files make, and those that differ from the commit that it was made from."""

    tree: str
    changed: tuple[str, ...]


def tree_of_files(folder: Path, commit: str, is_ours: IsOurs) -> TreeOfFiles:
    """Return the tree of a commit with all that differs from it in a folder. Raises GitWriteError."""
    with GitWriter(folder) as git:
        changed = [change.file for change in changes_since(git, commit, is_ours)]
        # A name that is no text is never committed, nor is a repository within this one.
        files = [file for file in changed if printable(file) == file and not file.endswith("/")]
        return TreeOfFiles(_write_tree(git, commit, files), tuple(map(printable, changed)))


def _check_own(git: GitWriter, tree: WorkTree, head: str, known: str, written: str, trailer: str) -> None:
    """Raise GitWriteError unless a branch's head is the commit that would be made now, as after a kill in between."""
    held, _, message = git.run("show", "--no-patch", "--format=%T %P%n%B", head).partition("\n")
    content, *parents = held.split()
    is_same = content == written and message.strip().endswith(trailer) and len(parents) == 1
    if is_same and only_merged_base(git, tree, known, parents[0]):
        return
    raise GitWriteError(
        f"{tree.branch} has commits that this server did not make; it commits the files itself: "
        f"`{way_back(git, tree, known)}` in {tree.folder} takes them back and leaves the files as they are"
    )


def refuse_filtered(git: GitWriter, files: Sequence[str]) -> None:
    """Raise GitWriteError if git would pass one of the files through a program, as git-lfs has it done."""
    for start in range(0, len(files), 500):
        if filtered := filtered_files(git, files[start : start + 500]):
            raise GitWriteError(
                f"git passes these files through a filter program, which is not run here: "
                f"{', '.join(filtered[:MAX_NAMED])}; leave them out of the change, or commit them yourself"
            )


def filtered_files(git: GitWriter, files: Sequence[str]) -> list[str]:
    """Return the files that git passes through a program, each with the filter's name. Raises GitWriteError."""
    told = git.run("check-attr", "-z", "filter", "--", *files).split("\0")
    rows = zip(told[::3], told[2::3], strict=False)
    return [f"{file} ({name})" for file, name in rows if name not in {"unspecified", "unset", "set"}]


def merge_change(
    root: Path,
    tree: WorkTree,
    message: str,
    who: Identity,
    kept_below: Path,
    known_head: str = "",
    permitted: Collection[str] | None = None,
    checked_head: str = "",
) -> str:
    """Merge a change's branch into the one it came from; return that branch's new commit.

    `known_head`: the last commit of the branch, by which a merge that was done already is known. `permitted`: the files
    that commits which somebody made on top of it, as to resolve a conflict, may change; None: any. `checked_head`: the
    commit that checks have passed on; then exactly its files are merged, and nothing where the other branch has moved.

    The folder that has that branch out follows. GitWriteError with the files in conflict, or those of the user that a
    merge would overwrite; both branches stay as they were then. Else the change's branch and work tree are removed.
    """
    folder = find_git_folder(root)
    if folder is None:
        raise GitWriteError(f"{root} is no git repository any more")
    with locked(folder, "index", "HEAD") as locks, GitWriter(root, identity=who) as git:
        head = git.commit_of(f"refs/heads/{tree.branch}")
        base = git.commit_of(f"refs/heads/{tree.base_branch}")
        out = (git.private / "HEAD").read_text().strip().removeprefix("ref: refs/heads/")
        if base is None:
            raise GitWriteError(f"branch {tree.base_branch}, which the change came from, does not exist any more")
        if head is None:
            if known_head and git.commit_of(known_head) and is_within(git, known_head, base):
                return base
            raise GitWriteError(f"branch {tree.branch} does not exist any more, and was not merged; make it anew")
        if known_head and head != known_head:
            _check_moved(git, tree, base, head, known_head, permitted)
        if checked_head:
            _check_tested(git, tree, base, head, checked_head)
        merged = base if is_within(git, head, base) else _merge_commit(git, tree, base, head, message)
        if out in {tree.branch, tree.base_branch}:
            _follow(git, head if out == tree.branch else base, merged)
            publish(locks["index"], (git.private / "index").read_bytes())
        if merged != base:
            git.set_branch(tree.base_branch, merged, base)
        if out == tree.branch:
            publish(locks["HEAD"], f"ref: refs/heads/{tree.base_branch}\n".encode())
        git.delete_reference(f"refs/heads/{tree.branch}", head)
    remove_linked(root, tree.branch, [kept_below])
    return merged


def head_of_change(root: Path, tree: WorkTree, known_head: str, permitted: Collection[str]) -> str:
    """Return the commit that a change's branch is at; empty if the branch is gone, as after its merge.

    GitWriteError if it lost the session's commit, or gained files that were not permitted.
    """
    with GitWriter(root) as git:
        head = git.commit_of(f"refs/heads/{tree.branch}")
        base = git.commit_of(f"refs/heads/{tree.base_branch}")
        if head is not None and base is not None and known_head and head != known_head:
            _check_moved(git, tree, base, head, known_head, permitted)
        return head or ""


def _check_branch(git: GitWriter, tree: WorkTree) -> None:
    out = (git.private / "HEAD").read_text().strip()
    if out != f"ref: refs/heads/{tree.branch}":
        raise GitWriteError(f"{tree.folder} is not on branch {tree.branch} any more ({out}); switch back to it")


def _check_moved(
    git: GitWriter, tree: WorkTree, base: str, head: str, known_head: str, permitted: Collection[str] | None
) -> None:
    """Raise GitWriteError if a branch lost the session's commit, or gained files that were not permitted."""
    if not is_within(git, known_head, head):
        raise GitWriteError(
            f"{tree.branch} does not hold the commit that was reviewed any more; "
            f"`git branch -f {tree.branch} {known_head}` (on another branch) brings it back"
        )
    if permitted is None:
        return
    _check_permitted(git, tree, git.run("merge-base", base, head).strip(), head, known_head, permitted)


def _check_permitted(
    git: GitWriter, tree: WorkTree, common: str, head: str, known_head: str, permitted: Collection[str]
) -> None:
    """Raise GitWriteError if a branch changed files that were not permitted since it parted from its base branch."""
    told = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", common, head)
    foreign = [printable(file) for file in told.split("\0") if file and file not in permitted]
    if foreign:
        back = f"take them back to {known_head}"
        if not is_within(git, common, known_head):
            back = f"commit these files as they are in {common[:12]}, which {tree.base_branch} has"
        raise GitWriteError(
            f"{tree.branch} has commits that were not reviewed, with files that check_write_target never permitted: "
            f"{', '.join(foreign[:MAX_NAMED])}; {back}"
        )


def _check_tested(git: GitWriter, tree: WorkTree, base: str, head: str, checked_head: str) -> None:
    """Raise GitWriteError if a merge would bring about other files than those that checks have passed on."""
    if head != checked_head:
        raise GitWriteError(f"{tree.branch} moved after the checks had passed on {checked_head[:12]}; submit again")
    if not is_within(git, base, head):
        raise GitWriteError(
            f"{tree.base_branch} has moved on, and the checks of the contract have not run on both together: "
            f"`git merge {tree.base_branch}` in {tree.folder}, then submit; they run on the result"
        )


def _merge_commit(git: GitWriter, tree: WorkTree, base: str, head: str, message: str) -> str:
    merged, conflicts = merged_files(git, base, head)
    if conflicts:
        raise GitWriteError(
            f"{tree.branch} cannot be merged into {tree.base_branch}, which has moved on: conflicts in "
            f"{', '.join(conflicts[:MAX_NAMED])}; merge {tree.base_branch} into {tree.branch} by hand, then submit",
            conflicts=conflicts,
        )
    text = git.private / "message"
    text.write_text(f"{merge_subject(tree)}\n\n{message.strip()}\n", encoding="utf-8")
    return git.run("commit-tree", merged, "-p", base, "-p", head, "-F", str(text)).strip()


def _follow(git: GitWriter, old: str, new: str) -> None:
    """Take the files of a work tree from one commit to another, unless that would overwrite what is not committed."""
    # A file that was written and is as it was has other times than the index knows.
    git.run("update-index", "-q", "--refresh", accepted=(0, 1))
    try:
        git.run("read-tree", "-m", "-u", old, new)
    except GitWriteError as error:
        in_way = _in_way(git, old, new)
        listed = ", ".join(map(printable, in_way[:MAX_NAMED]))
        more = f" and {len(in_way) - MAX_NAMED} more" if len(in_way) > MAX_NAMED else ""
        raise GitWriteError(
            f"the merge would overwrite uncommitted work in {git.folder.top} ({listed}{more}); "
            "commit, stash or move it, then submit again"
        ) from error


def _in_way(git: GitWriter, old: str, new: str) -> list[str]:
    """Return the files in a work tree that are not as committed, or new, and that going to another commit would write.

    All that is not committed where none of it is such a file.
    """
    rows = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new).split("\0")
    written = dict(zip(rows[1::2], rows[::2], strict=False))
    dirty = uncommitted(git)
    new_ones = [file for file, how in written.items() if how == "A" and os.path.lexists(git.folder.top / file)]
    return sorted({*new_ones, *(written.keys() & set(dirty))}) or dirty


def task_branches(root: Path, prefix: str = BRANCH_PREFIX) -> dict[str, str]:
    """Return the branches of earlier sessions or fixes with their commits, by name."""
    with GitWriter(root) as git:
        told = git.run("for-each-ref", "--format=%(objectname) %(refname)", f"refs/heads/{prefix}*")
    rows = (line.split(" ", 1) for line in told.splitlines())
    return {name.removeprefix("refs/heads/"): commit for commit, name in rows}


def lay_aside(root: Path, branch: str, who: Identity, kept_below: Path, is_ours: IsOurs, now_s: float) -> LaidAside:
    """Delete a session's branch and keep its head for 30 days, with what was not committed in its own work tree.

    GitWriteError if the branch is the one that is out in `root`.
    """
    with GitWriter(root, identity=who) as git:
        head = git.commit_of(f"refs/heads/{branch}")
        if head is None or not branch.startswith(PREFIXES):
            raise GitWriteError(f"{branch} is no branch of a session")
        if (git.private / "HEAD").read_text().strip() == f"ref: refs/heads/{branch}":
            raise GitWriteError(f"{branch} is the branch that {root} is on; switch to another one first")
        kept = _with_uncommitted(root, branch, head, who, kept_below, is_ours)
        reference = f"{TRASH}/{round(now_s)}-{branch}"
        git.set_reference(reference, kept, git.commit_of(reference))
        git.delete_reference(f"refs/heads/{branch}", git.run("rev-parse", f"refs/heads/{branch}").strip())
        _forget_old(git, now_s)
    remove_linked(root, branch, [kept_below])
    return LaidAside(branch, kept, reference)


def _with_uncommitted(root: Path, branch: str, head: str, who: Identity, kept_below: Path, is_ours: IsOurs) -> str:
    folder = kept_below / task_name(branch)
    if not os.path.lexists(folder):
        return head
    refuse_foreign(root, branch, folder)
    if any(folder.iterdir()):
        # Files whose link is gone are in no commit either.
        link_again(root, branch, folder)
    found = find_git_folder(folder.resolve())
    if found is None or found.top != folder.resolve():
        return head
    with GitWriter(found.top, identity=who) as git:
        changes = changes_since(git, head, is_ours)
        if not changes:
            return head
    tree = WorkTree(str(found.top), branch, "", head, is_linked=True)
    return commit_change(tree, [change.file for change in changes], "Uncommitted work", "laid aside", who)


def _forget_old(git: GitWriter, now_s: float) -> None:
    oldest = now_s - KEPT_DAYS * 86_400
    for line in git.run("for-each-ref", "--format=%(objectname) %(refname)", TRASH).splitlines():
        commit, name = line.split(" ", 1)
        made = name.removeprefix(f"{TRASH}/").split("-", 1)[0]
        if made.isdigit() and int(made) < oldest:
            git.delete_reference(name, commit)
