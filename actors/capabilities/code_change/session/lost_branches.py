"""Notices that a session's branch was deleted, and makes it anew from the recorded commit.

Effects block: they run in a thread.
"""

from __future__ import annotations

import os
from pathlib import Path

from actors.capabilities.code_change.session.missing_repository import missing_repository
from runtime.codebase.git.base_merges import is_within
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_writer import GitWriter
from runtime.contracts.session_state import SessionState, Workplace

LOST = (
    "branch {branch} is gone: it was deleted or renamed while this session works on it. start_session with `recovery`: "
    "resume makes it anew at {commit}, which was recorded; files in the workspace stay as they are"
)
MADE_ANEW = (
    "branch {branch} was gone and was made anew at {commit}; where {folder} is on another branch by now, `git -C "
    "{folder} switch {branch}` goes back to it"
)


def lost_branch(state: SessionState) -> str | None:
    """Return that a session's branch was deleted, and what brings it back; None where it is there or was merged."""
    place = state.place
    if state.is_over or place is None or not place.branch or missing_repository(state) is not None:
        return None
    if _is_plainly_there(state, place):
        return None
    with GitWriter(Path(state.repository)) as git:
        if not _is_lost(git, place):
            return None
    return LOST.format(branch=place.branch, commit=_recorded(place)[:12])


def with_lost_branch(state: SessionState) -> SessionState:
    """Return a session that is resumed, with its branch made anew if that was deleted. Raises GitWriteError."""
    place = state.place
    if place is None or lost_branch(state) is None:
        return state
    with GitWriter(Path(state.repository)) as git:
        git.set_branch(place.branch, _recorded(place), None)
    said = MADE_ANEW.format(branch=place.branch, commit=_recorded(place)[:12], folder=place.folder)
    return state.with_(warnings=(*state.warnings, said))


def _is_plainly_there(state: SessionState, place: Workplace) -> bool:
    """Return whether a branch has a file of its own, which needs no process of git to be seen."""
    folder = find_git_folder(Path(state.repository))
    return folder is None or os.path.lexists(folder.common / "refs" / "heads" / place.branch)


def _is_lost(git: GitWriter, place: Workplace) -> bool:
    if git.commit_of(f"refs/heads/{place.branch}") is not None:
        return False
    base = git.commit_of(f"refs/heads/{place.base_branch}")
    # After a kill in the merge the branch is gone as it should be: what it held is in the other one.
    return not (place.head and base is not None and git.commit_of(place.head) and is_within(git, place.head, base))


def _recorded(place: Workplace) -> str:
    return place.head or place.base_commit
