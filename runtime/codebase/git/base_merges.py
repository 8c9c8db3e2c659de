"""Tells what a task branch has taken over from the branch that it came from.

A base branch that moves on is merged into the task branch, by the agent or by hand. From then on the change is what
differs from the newest commit that both have: what the base branch alone changed is nobody's work of this session.
"""

from __future__ import annotations

import msgspec

from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import WorkTree


def with_merged_base(git: GitWriter, tree: WorkTree) -> WorkTree:
    """Return a work tree from the newest commit of its base branch that its own branch holds.

    It is as it was where a branch is gone, or where the base branch lost the commit that the change began at.
    """
    base = git.commit_of(f"refs/heads/{tree.base_branch}")
    if base == tree.base_commit:
        return tree  # the usual case, in which no later commit can be in both
    head = git.commit_of(f"refs/heads/{tree.branch}")
    if not tree.branch or head is None or base is None or not is_within(git, tree.base_commit, base):
        return tree
    common, status = git.status_of("merge-base", base, head)
    commit = common.strip()
    if status != 0 or commit == tree.base_commit or not is_within(git, tree.base_commit, commit):
        return tree
    return msgspec.structs.replace(tree, base_commit=commit)


def is_within(git: GitWriter, commit: str, head: str) -> bool:
    """Return whether a commit is another one or stands before it."""
    return git.status_of("merge-base", "--is-ancestor", commit, head)[1] == 0


def only_merged_base(git: GitWriter, tree: WorkTree, known: str, head: str) -> bool:
    """Return whether nothing but commits of the base branch, and merges of them, came upon a known commit.

    `tree` is the one that `with_merged_base` returns.
    """
    if head == known:
        return True
    if not is_within(git, known, head) or is_within(git, tree.base_commit, known):
        return False
    return not git.run("rev-list", "--no-merges", "--max-count=1", head, f"^{known}", f"^{tree.base_commit}").strip()


def way_back(git: GitWriter, tree: WorkTree, known: str) -> str:
    """Return the command that takes commits off a task branch, but neither files nor what was merged from the base."""
    if is_within(git, tree.base_commit, known):
        return f"git reset --soft {known}"
    if is_within(git, known, tree.base_commit):
        return f"git reset --soft {tree.base_commit}"
    merged = f'git commit-tree HEAD^{{tree}} -p {known} -p {tree.base_commit} -m "Merge {tree.base_branch}"'
    return f"git reset --soft $({merged})"
