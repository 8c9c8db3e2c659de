"""Finds commits of a base branch that a change did not make, also where others merged the change."""

from __future__ import annotations

from runtime.codebase.git.base_merges import is_within, with_merged_base
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import WorkTree
from runtime.errors import GitWriteError

MAX_LISTED = 1_000


def foreign_commits(git: GitWriter, tree: WorkTree, known_head: str) -> list[str]:
    """Return the commits that a base branch got since a change began and that are none of it, the newest first.

    `known_head`: the last commit that the change's session made.
    """
    base = git.commit_of(f"refs/heads/{tree.base_branch}")
    if base is None or not git.commit_of(tree.base_commit):
        return []
    head = git.commit_of(f"refs/heads/{tree.branch}") or known_head
    merged = with_merged_base(git, tree).base_commit
    own = set(_listed(git, head, merged)) | {known_head}
    if is_own_merge(git, tree, base, head):
        own.add(base)
    return [commit for commit in _listed(git, base, tree.base_commit) if commit not in own]


def is_own_merge(git: GitWriter, tree: WorkTree, commit: str, head: str) -> bool:
    """Return whether a commit is the merge that a session makes: of its head, with nothing else in it."""
    told = git.run("show", "--no-patch", "--format=%T %P%n%s", commit)
    (content, *parents), subject = told.partition("\n")[0].split(), told.partition("\n")[2].strip()
    if len(parents) != 2 or parents[1] != head or subject != merge_subject(tree):
        return False
    return content == merged_files(git, parents[0], head)[0]


def merge_subject(tree: WorkTree) -> str:
    """Return the first line of the message of a change's merge."""
    return f"Merge {tree.branch} into {tree.base_branch}"


def merged_files(git: GitWriter, base: str, head: str) -> tuple[str, list[str]]:
    """Return the tree that a merge makes of two commits, and the files in conflict."""
    if is_within(git, base, head):
        return git.run("rev-parse", f"{head}^{{tree}}").strip(), []
    if git.status_of("merge-base", base, head)[1]:
        raise GitWriteError(
            f"{base[:12]}, which the base branch is at, and {head[:12]}, the change, have no commit in common: another "
            "history was put in the branch's place. Nothing was merged; tell the person, who may bring the branch back"
        )
    told, status = git.status_of("merge-tree", "--write-tree", "--name-only", "--no-messages", base, head)
    content, *conflicts = told.strip().split("\n")
    return content, conflicts if status != 0 else []


def _listed(git: GitWriter, commit: str, before: str) -> list[str]:
    return git.run("rev-list", f"--max-count={MAX_LISTED}", commit, f"^{before}").split()
