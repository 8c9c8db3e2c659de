"""Compares submodules with what a commit records of them, without running git on their configuration.

No change of the outer repository has a part in a submodule, so one that moved is only told.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import msgspec

from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import changes_since, printable
from runtime.errors import RepositoryError

MAX_SUBMODULES = 100
_LINK = "160000"


class MovedSubmodule(msgspec.Struct, frozen=True):
    """Describes a submodule that is not as it was recorded: `path` from the outermost folder, commits as full hashes.

    `recorded` is empty for one that the commit does not have, `at` for one that is not checked out or cannot be read;
    `staged`: the commit in the index of the repository around it, empty where it was taken out; `changed`: how many
    files differ from `at`; `problem`: why it cannot be compared.
    """

    path: str
    recorded: str
    at: str = ""
    staged: str = ""
    changed: int = 0
    problem: str = ""

    @property
    def sentence(self) -> str:
        """The difference in words."""
        if self.problem:
            return f"{self.path} cannot be compared with its recorded commit: {self.problem}"
        told = [f"{self.path} is at {self.at[:12]}, recorded is {self.recorded[:12] or 'none'}"] if self.at else []
        told += [] if self.at else [f"{self.path} is not checked out"]
        if self.staged != self.recorded:
            told.append(f"{self.staged[:12]} is staged" if self.staged else "it was taken out of the index")
        if self.changed:
            told.append(f"{self.changed} files in it are not committed")
        return ", ".join(told)


def moved_submodules(top: Path, commit: str) -> list[MovedSubmodule]:
    """Return the submodules of a work tree that are not as `commit` records them, nested ones included.

    At most 100 are looked at. One that is not checked out, and recorded as before, did not move. Raises GitWriteError
    if `top` itself cannot be read.
    """
    moved: list[MovedSubmodule] = []
    waiting = deque(_links(top, commit, ""))
    for _ in range(MAX_SUBMODULES):
        if not waiting:
            break
        path, recorded, staged = waiting.popleft()
        found, inner = _compared(top, path, recorded, staged)
        waiting.extend(inner)
        if found is not None:
            moved.append(found)
    return moved


def _compared(
    top: Path, path: str, recorded: str, staged: str
) -> tuple[MovedSubmodule | None, list[tuple[str, str, str]]]:
    """Return how a submodule differs, None where it does not, and the submodules in it."""
    name = printable(path)
    try:
        folder = find_git_folder(top / path)
        if folder is None or folder.top != (top / path).resolve():
            is_same = staged == recorded
            return (None if is_same else MovedSubmodule(name, recorded, staged=staged)), []
        with GitWriter(folder.top) as git:
            at = git.commit_of("HEAD") or ""
            changed = len(changes_since(git, at, lambda _: False)) if at else 0
        inner = _links(folder.top, at, f"{path}/") if at else []
    except (RepositoryError, OSError) as error:
        problem = error.message if isinstance(error, RepositoryError) else str(error.strerror)
        return MovedSubmodule(name, recorded, problem=problem), []
    is_same = at == recorded == staged and not changed
    return (None if is_same else MovedSubmodule(name, recorded, at, staged, changed)), inner


def _links(top: Path, commit: str, below: str) -> list[tuple[str, str, str]]:
    """Return the submodules of one work tree: path, the commit that is recorded, and the one in the index."""
    with GitWriter(top) as git:
        staged = {}
        for entry in git.run("ls-files", "-s", "-z").split("\0"):
            about, _, file = entry.partition("\t")
            if about.startswith(_LINK):
                staged[file] = about.split(" ")[1]
        recorded = dict(staged)
        # With --cached no submodule is looked into.
        raw = git.run("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--ignore-submodules=dirty", commit)
        words = raw.split("\0")
        for about, file in zip(words[::2], words[1::2], strict=False):
            old_mode, new_mode, old, _new, _how = about.lstrip(":").split(" ")
            if _LINK in {old_mode, new_mode}:
                recorded[file] = old if old_mode == _LINK else ""
    return [(below + file, commit_in, staged.get(file, "")) for file, commit_in in sorted(recorded.items())]
