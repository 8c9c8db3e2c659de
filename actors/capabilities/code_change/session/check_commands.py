"""Runs the commands that a contract names on the files of a session, and notes which files those were.

Each runs in a process that is killed when it takes too long.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.code_change.evidence.write_guard import is_ours
from actors.capabilities.code_change.session.change_base import session_base
from runtime.codebase.files.compiled_modules import remove_compiled
from runtime.codebase.files.moved_folders import FolderWatch
from runtime.codebase.git.commits import TreeOfFiles, tree_of_files
from runtime.codebase.git.git_view import AS_HASHED
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.index_marks import clearing, hidden_edits
from runtime.codebase.git.work_trees import printable
from runtime.contracts.contract import CheckCommand, Contract
from runtime.contracts.due_checks import due_checks
from runtime.contracts.observations import MAX_NAMED, CheckResult, Observed
from runtime.contracts.session_state import SessionState, Workplace
from runtime.errors import GitWriteError
from runtime.processes.named_commands import run_named

_GONE = "{branch} is gone, and {base} is at {commit}, which this session did not make"
_ENDS = "tell the person, who may end the session with `jeeves runs cancel {session}`"
UNCHECKED = (
    f"{_GONE}; the checks of the contract ({{names}}) have not passed on it: they run in {{root}} once {{base}} is out "
    f"there and nothing is uncommitted. Submit again then, or {_ENDS}"
)
FAILING = (
    f"{_GONE} and on which the checks of the contract fail; `git branch {{branch}} {{head}}` brings the branch back; "
    f"{_ENDS}"
)

HIDDEN = (
    "the index hides from git that these files are changed: {files}. The checks of the contract may ask git, so they "
    "do not run. {clear} clears the marks; then submit again"
)


class _Ends(NamedTuple):
    """Holds how commands ended, and which compiled modules they may have read."""

    results: tuple[CheckResult, ...]
    compiled: tuple[str, ...]


def run_checks(commands: Iterable[CheckCommand], folder: Path, base: str, new: Iterable[str]) -> _Ends:
    """Run commands in a folder, one after the other; the first failure ends it. Raises GitWriteError.

    Python reads no compiled modules there: one that stands for another source would decide how a command ends. Those
    that the commit `base` does not hold are removed before each command, since isolated interpreters, and tools that
    keep an environment of their own, do not see the variable; what a command runs may have left some for the next.
    """
    results: list[CheckResult] = []
    left: dict[str, None] = {}
    with GitWriter(folder) as git:
        _refuse_hidden(git)
        held = frozenset(git.run("ls-tree", "-r", "-z", "--name-only", base).split("\0")) if base else frozenset()
        files = {*held, *git.run("ls-files", "-z").split("\0"), *new} - {""}
    with tempfile.TemporaryDirectory(prefix="jeeves-compiled-") as compiled:
        environment = {**os.environ, **AS_HASHED, "PYTHONPYCACHEPREFIX": compiled}
        for check in commands:
            left |= dict.fromkeys(remove_compiled(folder, files, held))
            end = run_named(check.command, folder, check.timeout_s, environment)
            results.append(CheckResult(check.name, end.passed, end.told))
            if not end.passed:
                break
    return _Ends(tuple(results), tuple(f"{printable(file)} (cannot be removed)" for file in left))


def _refuse_hidden(git: GitWriter) -> None:
    """Raise GitWriteError where the index hides edits: a command that asks git what is changed would not see them."""
    if hidden := hidden_edits(git):
        listed = ", ".join(map(printable, list(hidden)[:MAX_NAMED]))
        raise GitWriteError(HIDDEN.format(files=listed, clear=clearing(git, hidden)))


def with_checks(contract: Contract, state: SessionState, payload: Mapping[str, Any], seen: Observed) -> Observed:
    """Return what was observed with how the commands ended that are due. Raises GitWriteError.

    They run on the files as they lie there. Where these are not those of the commit that is to be merged, none runs.
    """
    duty = contract.phases[state.phase].duty
    if state.place is None or not due_checks(contract, state, payload, ""):
        return seen
    if duty == "merge" and not seen.head:
        return _with_checks_of_base(contract, state, payload, seen)
    before = _files(contract, state, seen.head)
    due = due_checks(contract, state, payload, before.tree)
    is_merged = duty in {"quality", "merge"}
    if is_merged and before.changed and due:
        _refuse_other_branch(state.place)
    if is_merged and before.changed and due:
        return msgspec.structs.replace(seen, uncommitted=before.changed)
    if not due:
        return msgspec.structs.replace(seen, tree=before.tree)
    commands = dict.fromkeys(check for checks in due.values() for check in checks)
    folder = Path(state.place.folder)
    # Without a branch nothing else says which new files belong to the change.
    new = (*before.changed, *state.permitted)
    with _Watch(folder, new) as watch:
        ends = run_checks(commands, folder, session_base(state.place), new)
        is_stable = _files(contract, state, seen.head) == before
        touched = (*watch.touched(), *ends.compiled)
    return msgspec.structs.replace(seen, checks=ends.results, tree=before.tree, is_stable=is_stable, touched=touched)


class _Watch:
    """Knows which files and folders of a repository were touched while its commands ran."""

    def __init__(self, folder: Path, changed: Iterable[str]) -> None:
        """Begin to watch the files that git knows, and those that are changed: each may decide what a command says."""
        with GitWriter(folder) as git:
            files = {*git.run("ls-files", "-z").split("\0"), *changed} - {""}
        self._folder = folder
        self._marks = {file: mark for file in files if (mark := _mark(folder / file)) is not None}
        self._folders = FolderWatch(
            folder, {str(above) for file in files for above in PurePosixPath(file).parents} - {"."}
        )

    def touched(self) -> tuple[str, ...]:
        """Return which files were written, and which folders were moved, those with a slash behind."""
        moved = (f"{printable(name)}/" for name in self._folders.moved())
        written = (printable(file) for file, mark in self._marks.items() if _mark(self._folder / file) != mark)
        return (*moved, *written)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._folders.close()


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Return what cannot be put back when a file is written: which one it is, its size, and when it was last touched.

    None of one that is gone, which the comparison of before and after tells.
    """
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _with_checks_of_base(
    contract: Contract, state: SessionState, payload: Mapping[str, Any], seen: Observed
) -> Observed:
    """Return what was observed with how the commands ended on the base branch, after the change's own branch has gone.

    Where the session merged it, and a kill came between, they have passed on the very files. Raises GitWriteError.
    """
    assert state.place is not None
    root, base = Path(state.repository), state.place.base_branch
    with GitWriter(root) as git:
        commit = git.commit_of(f"refs/heads/{base}")
        tree = git.run("rev-parse", f"{commit}^{{tree}}").strip() if commit else ""
        is_out = (git.private / "HEAD").read_text().strip() == f"ref: refs/heads/{base}"
    due = due_checks(contract, state, payload, tree)
    if commit is None or not due:
        return seen
    commands = dict.fromkeys(check for checks in due.values() for check in checks)
    if not is_out or tree_of_files(root, commit, is_ours).changed:
        names = ", ".join(check.name for check in commands)
        return msgspec.structs.replace(seen, unjudged=UNCHECKED.format(**_about(state, commit), names=names))
    with _Watch(root, ()) as watch:
        results, compiled = run_checks(commands, root, commit, ())
        touched = (*watch.touched(), *compiled)
    if all(check.passed for check in results) and not tree_of_files(root, commit, is_ours).changed:
        return msgspec.structs.replace(seen, checks=results, tree=tree, touched=touched)
    return msgspec.structs.replace(seen, checks=results, unjudged=FAILING.format(**_about(state, commit)))


def _refuse_other_branch(place: Workplace) -> None:
    """Raise GitWriteError where another branch is out, whose files are none of the session's edits."""
    with GitWriter(Path(place.folder)) as git:
        out = (git.private / "HEAD").read_text().strip().removeprefix("ref: refs/heads/")
    if out != place.branch:
        raise GitWriteError(
            f"{place.folder} is on {out}, not on {place.branch}: `git switch {place.branch}` there, then submit again"
        )


def _about(state: SessionState, commit: str) -> dict[str, str]:
    assert state.place is not None
    place = state.place
    return {
        "branch": place.branch,
        "base": place.base_branch,
        "commit": commit[:12],
        "head": place.head,
        "root": state.repository,
        "session": state.session_id,
    }


def _files(contract: Contract, state: SessionState, head: str) -> TreeOfFiles:
    """Return the tree of what is to be committed or merged; of a session without a branch none."""
    place = state.place
    is_merged = contract.phases[state.phase].duty in {"quality", "merge"}
    if place is None or not place.branch or (is_merged and not head):
        return TreeOfFiles("", ())
    return tree_of_files(Path(place.folder), head if is_merged else session_base(place), is_ours)
