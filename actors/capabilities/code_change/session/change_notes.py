"""Tells what an agent, or the person behind it, should hear of a change. Effects block."""

from __future__ import annotations

from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines
from actors.capabilities.code_change.evidence.hollow_change import hollow_in_change
from actors.capabilities.code_change.evidence.lost_tests import lost_tests
from actors.capabilities.code_change.evidence.write_guard import AGREEMENTS, is_ours
from actors.capabilities.code_change.session.change_base import session_base, session_changes
from runtime.codebase.files.tool_caches import caches_told
from runtime.codebase.git.commits import filtered_files
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.ignored_files import ignoring_pattern
from runtime.codebase.git.submodules import moved_submodules
from runtime.codebase.git.work_trees import digest_of, left_by_tools
from runtime.contracts.session_state import SessionState
from runtime.errors import GitWriteError, RepositoryError

MAX_TOLD_SUBMODULES = 10
IGNORED = (
    "git ignores '{file}' by {where} (`{pattern}`), so it would be no part of the change and proves nothing; give it "
    "another name, or change that pattern first. A file that is only needed here, for a test or a build, needs no "
    "permission"
)


def submodules_note(state: SessionState) -> str | None:
    """Return which submodules of the session's folder are not as they were recorded; None where all are."""
    place = state.place
    if place is None or not place.base_commit:
        return None
    moved = moved_submodules(Path(place.folder), session_base(place))
    if not moved:
        return None
    told = "; ".join(each.sentence for each in moved[:MAX_TOLD_SUBMODULES])
    more = f"; and {len(moved) - MAX_TOLD_SUBMODULES} more" if len(moved) > MAX_TOLD_SUBMODULES else ""
    return f"submodules have moved, which is no part of the change and is not committed: {told}{more}. Tell the person"


def caches_note(folder: Path) -> str:
    """Return which new files of a folder are left out of every change as a sentence; empty where none is."""
    with GitWriter(folder) as git:
        told = caches_told(left_by_tools(git))
    return f"{told} left out: what interpreters and tools keep for themselves belongs to no change" if told else ""


def filter_refusal(folder: Path, file: str) -> str | None:
    """Return that a file could not be committed, since git passes it through a program; None where it does not."""
    try:
        with GitWriter(folder) as git:
            filtered = filtered_files(git, [file])
    except (GitWriteError, RepositoryError):
        # Whatever is wrong with the repository is told where something is to be written to it.
        return None
    if not filtered:
        return None
    return f"git passes {filtered[0]} through a filter program, which is not run here: the person commits it"


def ignored_refusal(folder: Path, file: str) -> str | None:
    """Return that a file could not be part of a change, since git ignores it; None where it does not."""
    if file.startswith(AGREEMENTS):
        return None
    try:
        with GitWriter(folder) as git:
            found = ignoring_pattern(git, file)
    except RepositoryError:
        # Whatever is wrong with the repository is told where something is to be written to it.
        return None
    return None if found is None else IGNORED.format(file=file, where=found.where, pattern=found.pattern)


def lost_tests_note(state: SessionState, changed: ChangedLines | None = None) -> str:
    """Return what a session's change takes away from the tests, as a sentence; empty where it takes nothing.

    `changed`: what differs, where that is known.
    """
    place = state.place
    if place is None or not place.base_commit or not Path(place.folder).is_dir():
        return ""
    folder = Path(place.folder)
    return lost_tests(folder, session_base(place), changed or session_changes(state, folder)).sentence


def hollow_note(state: SessionState, changed: ChangedLines | None = None) -> str:
    """Return which functions of a session's change do nothing, as a sentence; empty where none does."""
    place = state.place
    if place is None or not place.base_commit or not Path(place.folder).is_dir():
        return ""
    folder = Path(place.folder)
    return hollow_in_change(folder, changed or session_changes(state, folder))


def main_tree_note(state: SessionState) -> str | None:
    """Return that the user's own folder was edited while the session works beside it; None where it was not."""
    if state.place is None or not state.place.main_digest:
        return None
    try:
        with GitWriter(Path(state.repository)) as git:
            if digest_of(git, is_ours) == state.place.main_digest:
                return None
    except RepositoryError as error:
        return f"whether {state.repository} was edited cannot be told: {error.message}"
    if not state.place.is_worktree:
        return f"{state.repository} was edited since this session began, which only looks; tell the person"
    return (
        f"{state.repository} was edited since this session began; it works in {state.place.folder} and does not see it"
    )
