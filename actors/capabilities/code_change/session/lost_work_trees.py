"""Notices that a session's work tree is gone, or is linked to nothing, and makes it work again.

Edits that were not committed are in that folder alone. Effects block: they run in a thread.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from actors.capabilities.code_change.session.lost_branches import with_lost_branch
from actors.capabilities.code_change.session.missing_repository import missing_repository
from runtime.codebase.git.linked_trees import foreign_in_place, restore_linked
from runtime.contracts.session_state import SessionState
from runtime.errors import RepositoryError

GONE = (
    "its work tree {folder} is gone, and with it all edits that were not committed. Tell the person: if there is a "
    "copy, put it back into that folder before the session is resumed"
)
LOST = (
    "the work tree {folder} was gone and was made anew from its branch: all edits that were not committed are lost. "
    "Tell the person; do again what was done there, or put a copy of the files back into that folder"
)
LINKED_AGAIN = (
    "the work tree {folder} was no longer linked to its repository, and is again; its files stayed as they were found. "
    "Look at them before you go on (review_changes): some may be older than this session, or missing"
)


def gone_work_tree(state: SessionState, work_trees: Path) -> str | None:
    """Return that a session's work tree is gone, or what lies in its place; None where it is there or never was."""
    place = _with_moved_folder(state, work_trees).place
    if state.is_over or place is None or not place.is_worktree:
        return None
    try:
        why = foreign_in_place(Path(state.repository), place.branch, Path(place.folder))
    except RepositoryError:
        # What is wrong with the repository is told to who goes on.
        why = None
    return why if why is not None or Path(place.folder).is_dir() else GONE.format(folder=place.folder)


def lost_edits(state: SessionState) -> str | None:
    """Return what was told of a work tree that was made anew in this session; None if none was."""
    told = LOST.format(folder=state.place.folder if state.place is not None else "")
    return told if told in state.warnings else None


def with_work_tree(state: SessionState, work_trees: Path) -> SessionState:
    """Return a session that is resumed, with its branch and its work tree made anew, or linked again, where gone.

    `work_trees`: where such trees lie now; one that is there, and not where it was made, is taken from there. Raises
    GitWriteError.
    """
    state = _with_moved_folder(with_lost_branch(state), work_trees)
    place = state.place
    if place is None or not place.is_worktree or missing_repository(state) is not None:
        return state
    done = restore_linked(Path(state.repository), place.branch, Path(place.folder))
    if not done:
        return state
    said = (LOST if done == "made anew" else LINKED_AGAIN).format(folder=place.folder)
    return state if said in state.warnings else state.with_(warnings=(*state.warnings, said))


def _with_moved_folder(state: SessionState, work_trees: Path) -> SessionState:
    """Return a session with the folder that its work tree has by now, as where the state folder was moved with it."""
    place, now = state.place, work_trees / state.session_id
    if place is None or not place.is_worktree or os.path.lexists(place.folder) or not now.is_dir() or now.is_symlink():
        return state
    return state.with_(place=msgspec.structs.replace(place, folder=str(now.resolve())))
