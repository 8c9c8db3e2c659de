"""Says from which commit a change is told, and what differs. Effects block: they run in a thread."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, changed_lines, without_own
from actors.capabilities.code_change.evidence.write_guard import is_ours
from actors.capabilities.code_change.session.missing_repository import missing_repository
from runtime.codebase.git.base_merges import with_merged_base
from runtime.codebase.git.foreign_commits import foreign_commits
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.linked_trees import refuse_foreign
from runtime.codebase.git.work_trees import WorkTree, files_in
from runtime.codebase.git.writable import refuse_under_way
from runtime.contracts.session_state import SessionState, Workplace
from runtime.errors import GitWriteError

MAX_NAMED = 5
FOREIGN = (
    "{base} got commits since this session began that it did not make, {count} in all ({listed}): nothing of them was "
    "judged here; tell the person"
)


def work_tree(place: Workplace) -> WorkTree:
    """Return a workplace as git's module knows it."""
    return WorkTree(place.folder, place.branch, place.base_branch, place.base_commit, place.is_worktree)


def session_base(place: Workplace) -> str:
    """Return the commit that a change is told from: where it began, or the newest that it merged of its base branch."""
    if not place.branch or not Path(place.folder).is_dir():
        return place.base_commit
    with GitWriter(Path(place.folder)) as git:
        return with_merged_base(git, work_tree(place)).base_commit


def refuse_foreign_tree(state: SessionState) -> None:
    """Raise GitWriteError where something else lies in the place of a session's work tree."""
    place = state.place
    if place is not None and place.is_worktree:
        refuse_foreign(Path(state.repository), place.branch, Path(place.folder))


def foreign_note(state: SessionState) -> str:
    """Return which commits the base branch got meanwhile that the session did not make, as a sentence; else nothing."""
    place = state.place
    if place is None or not place.branch:
        return ""
    with GitWriter(Path(state.repository)) as git:
        found = foreign_commits(git, work_tree(place), place.head)
    if not found:
        return ""
    listed = ", ".join(commit[:12] for commit in found[:MAX_NAMED])
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return FOREIGN.format(base=place.base_branch, count=len(found), listed=f"{listed}{more}")


def stood_before(state: SessionState, files: Collection[str]) -> frozenset[str]:
    """Return which files are older than a session's change: in its base, or the user's own. Raises GitWriteError."""
    place = state.place
    if place is None or not place.base_commit:
        return frozenset(files)
    base = session_base(place)
    with GitWriter(Path(place.folder)) as git:
        return files_in(git, base, files) | state.own_edits.keys() & set(files)


def session_changes(state: SessionState, folder: Path) -> ChangedLines:
    """Return what a session changed in its folder, the user's own edits left out. Raises GitWriteError."""
    assert state.place is not None
    if (why := missing_repository(state)) is not None:
        raise GitWriteError(why)
    refuse_foreign_tree(state)
    if not folder.is_dir():
        raise GitWriteError(
            f"{folder} is gone; resume the session (start_session with `recovery`: resume) to make it anew"
        )
    refuse_under_way(folder)
    return without_own(changed_lines(folder, session_base(state.place), is_ours), folder, state.own_edits)
