"""Knows what review_changes told last, so that nothing else is committed. Effects block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.code_change.evidence.write_guard import is_ours
from actors.capabilities.code_change.session.change_base import session_base
from runtime.codebase.git.commits import tree_of_files
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import printable
from runtime.contracts.session_state import SessionState
from runtime.errors import GitWriteError

TOOL = "review_changes"


def present_tree(state: SessionState) -> str:
    """Return git's hash of the files of a session as they are; empty without a branch. Raises GitWriteError."""
    place = state.place
    if place is None or not place.branch:
        return ""
    return tree_of_files(Path(place.folder), session_base(place), is_ours).tree


def tree_told(state: SessionState, forbidden: Sequence[str]) -> str:
    """Return the tree that a review looks at; empty where it holds what cannot be committed, and so is looked at again.

    `forbidden`: changed files that were never permitted.
    """
    try:
        return "" if forbidden else present_tree(state)
    except GitWriteError:
        # Why it cannot be committed is told where it would be.
        return ""


def unreviewed(state: SessionState, tree: str, changed: Sequence[str]) -> tuple[str, ...]:
    """Return which files are not as review_changes told them in this step. Raises GitWriteError.

    `tree` and `changed`: the files of the session now, and those that differ from its base.
    """
    was_called = any(use.tool == TOOL and use.visit == state.visit for use in state.uses)
    if not was_called or state.place is None or tree == state.told_tree:
        return ()
    if not state.told_tree:
        return tuple(changed)
    with GitWriter(Path(state.place.folder)) as git:
        told, status = git.status_of("diff-tree", "-r", "-z", "--name-only", state.told_tree, tree, accepted=(0, 128))
    files = tuple(printable(file) for file in told.split("\0") if file)
    return tuple(changed) if status else files
