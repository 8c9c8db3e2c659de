"""Says why changes cannot be committed to a repository: what is under way, missing or demanded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from runtime.codebase.git.git_folder import GitFolder, find_git_folder, read_bounded
from runtime.codebase.git.identity import Identity, demands_signature, identity_of
from runtime.errors import GitWriteError

_UNDER_WAY = {
    "rebase-merge": "a rebase is under way; finish it with 'git rebase --continue' or '--abort'",
    "rebase-apply": "a rebase or 'git am' is under way; finish or abort it",
    "MERGE_HEAD": "a merge is under way; commit it, or 'git merge --abort'",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish or abort it",
    "REVERT_HEAD": "a revert is under way; finish or abort it",
    "BISECT_LOG": "a bisection is under way; end it with 'git bisect reset'",
}
_BRANCH = "ref: refs/heads/"
MAX_HEAD_BYTES = 8_192


class Writable(msgspec.Struct, frozen=True):
    """Describes a repository that can be written: its branch, its commit, and who commits.

    `hooks`: names of hooks that a user's own git would run at a commit or merge; ours runs none.
    """

    top: str
    branch: str
    identity: Identity
    hooks: tuple[str, ...] = ()


def writable(root: Path, environment: Mapping[str, str] | None = None) -> Writable:
    """Return what writing to the repository at `root`, resolved, needs; GitWriteError with each reason against it."""
    folder = find_git_folder(root)
    if folder is None:
        raise GitWriteError(f"{root} is no git repository; 'git init' and a first commit make it one")
    if folder.top != root:
        raise GitWriteError(f"{root} lies inside the repository {folder.top}; give that folder instead")
    problems = [said for name, said in _UNDER_WAY.items() if (folder.private / name).exists()]
    head = _head_line(folder)
    if not head.startswith(_BRANCH):
        problems.append("HEAD is detached; switch to a branch with 'git switch'")
    if (folder.common / "reftable").exists():
        problems.append("its references are kept in a reftable, which this program cannot write")
    if demands_signature(folder, environment):
        problems.append("its commits have to be signed (commit.gpgsign), and no signing program is run here")
    identity = identity_of(folder, environment)
    if identity is None:
        problems.append("nobody is named as author; set user.name and user.email with 'git config'")
    if problems or identity is None:
        raise GitWriteError(f"{root} cannot be changed under a contract: " + "; ".join(problems), problems=problems)
    return Writable(str(folder.top), head.removeprefix(_BRANCH), identity, _hooks(folder))


def refuse_under_way(root: Path) -> None:
    """Raise GitWriteError if a rebase or the like is under way in a work tree: its files are nobody's work then."""
    folder = find_git_folder(root)
    for said in (said for name, said in _UNDER_WAY.items() if folder is not None and (folder.private / name).exists()):
        raise GitWriteError(f"in {root} {said}")


def _head_line(folder: GitFolder) -> str:
    text = read_bounded(folder.private / "HEAD", MAX_HEAD_BYTES)
    if text is None:
        raise GitWriteError(f"{folder.private}/HEAD cannot be read")
    return text.strip()


def _hooks(folder: GitFolder) -> tuple[str, ...]:
    named = folder.settings.last("core", "hookspath")
    place = folder.common / "hooks" if named is None else folder.top / named
    wanted = ("pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit", "post-commit")
    try:
        return tuple(name for name in wanted if folder.holds(place / name) and (place / name).is_file())
    except OSError:
        # A folder that cannot be read holds no hook that a user's git could run.
        return ()
