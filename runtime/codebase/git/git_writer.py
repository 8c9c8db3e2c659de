"""Writes to a repository with git's plumbing alone: objects, references, the index, files.

As in `git_process`, git works in a folder of our own and reads none of the repository's configuration: no hook, filter,
merge driver, signing program or monitor of it runs. Objects and references are the repository's own, reached through
links; HEAD and the index are copied in, changed there, and published by who holds their locks (`git_locks`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from runtime.codebase.files.disk_room import NO_ROOM, has_room
from runtime.codebase.git.blocking_files import blocking_file
from runtime.codebase.git.git_folder import GitFolder, find_git_folder
from runtime.codebase.git.git_settings import WOULD_WAIT
from runtime.codebase.git.git_view import build_view
from runtime.codebase.git.identity import Identity
from runtime.errors import GitWriteError
from runtime.processes.programs import program_folders, run_program

TIMEOUT_S = 120.0
MAX_OUTPUT_BYTES = 50_000_000
MAX_ARGUMENTS = 500

# A commit is what its hash says: replacements and grafts, which anybody may plant, would show another one in its place.
AS_HASHED = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}

_COMMANDS = frozenset(
    {
        *("add", "cat-file", "check-attr", "check-ignore", "checkout-index", "commit-tree", "diff-index", "diff-tree"),
        *("for-each-ref", "ls-files", "ls-tree"),
        *(
            "merge-base",
            "merge-tree",
            "read-tree",
            "rev-list",
            "rev-parse",
            "show",
            "status",
            "update-index",
            "update-ref",
        ),
        "write-tree",
    }
)

# This command takes no literal pathspecs; who calls it names a path that begins with `./`, which is none of the others.
_BESIDES = {"check-ignore": {"GIT_LITERAL_PATHSPECS": "0"}}


class GitWriter:
    """Runs plumbing commands in the work tree at `top`; every method raises GitWriteError when it fails.

    One writer is used for one piece of work and then closed: it sees HEAD and the index as they were at its start.
    """

    def __init__(self, top: Path, *, identity: Identity | None = None, timeout_s: float = TIMEOUT_S) -> None:
        program = shutil.which("git", path=program_folders())
        if program is None:
            raise GitWriteError("no program git is on the PATH; install git")
        folder = find_git_folder(top)
        if folder is None or folder.top != top:
            raise GitWriteError(f"{top} is not the top of a git work tree")
        self.folder: GitFolder = folder
        self._program = program
        self._timeout_s = timeout_s
        self._place = Path(tempfile.mkdtemp(prefix="jeeves-git-write-"))
        self._environment = build_view(folder, self._place) | AS_HASHED
        if identity is not None:
            self._environment |= identity.environment()
        self.private = Path(self._environment["GIT_DIR"])

    def close(self) -> None:
        """Remove the folder that git worked in."""
        shutil.rmtree(self._place, ignore_errors=True)

    def __enter__(self) -> GitWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, command: str, *arguments: str, accepted: Sequence[int] = (0,)) -> str:
        """Return the standard output of a plumbing command; GitWriteError if it ends with another status."""
        return self.status_of(command, *arguments, accepted=accepted)[0]

    def status_of(self, command: str, *arguments: str, accepted: Sequence[int] = (0, 1)) -> tuple[str, int]:
        """Return the standard output and the status of a plumbing command."""
        assert command in _COMMANDS, command
        line = [self._program, "--no-pager", command, *arguments]
        blocking: list[str] = []

        def is_blocked(has_ended: Callable[[], bool]) -> bool:
            found = blocking_file(self.folder.top, has_ended)
            blocking.extend([found] if found is not None else [])
            return found is not None

        data, status, late = run_program(
            line,
            cwd=self.folder.top,
            environment=self._environment | _BESIDES.get(command, {}),
            timeout_s=self._timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            is_stuck=is_blocked,
            # One that is killed leaves the locks of references behind.
            survives_limits=True,
        )
        if blocking and status not in accepted:
            raise GitWriteError(f"{blocking[0]} in {self.folder.top}, {WOULD_WAIT}; take it away, then try again")
        if late:
            raise GitWriteError(f"git {command} took longer than {self._timeout_s:g} s in {self.folder.top}")
        if status not in accepted and not all(map(has_room, (self.private, self.folder.common))):
            raise GitWriteError(NO_ROOM.format(place=self.folder.top))
        if status not in accepted:
            told = f"git {command} failed with status {status} in {self.folder.top}"
            raise GitWriteError(f"{told}; `git status` or `git fsck` there may say why", status=status)
        return data.decode("utf-8", "surrogateescape"), status

    def distrust_index(self) -> None:
        """Have the next commands compare files with the index by content, whatever it says of their times and sizes.

        Anybody may write an index that takes a changed file for an unchanged one. Git compares contents where a file is
        as new as the index; so our copy is made older than all of them. Files of the epoch's first second are the
        exception, and lose what the index knows of them.
        """
        index = self.private / "index"
        if not index.exists():
            return
        os.utime(index, (1, 1))
        listed = [entry for entry in self.run("ls-files", "-s", "-z").split("\0") if " 0\t" in entry]
        oldest = [entry for entry in listed if self._is_of_first_second(entry.split("\t", 1)[1])]
        for start in range(0, len(oldest), MAX_ARGUMENTS):
            options: list[str] = []
            for entry in oldest[start : start + MAX_ARGUMENTS]:
                about, file = entry.split("\t", 1)
                mode, blob, _stage = about.split(" ")
                options += ["--cacheinfo", f"{mode},{blob},{file}"]
            self.run("update-index", *options)
        self.run("update-index", "-q", "--refresh", accepted=(0, 1))

    def _is_of_first_second(self, file: str) -> bool:
        try:
            # Git keeps 32 bits of the seconds.
            return int(os.lstat(self.folder.top / file).st_mtime) & 0xFFFFFFFF == 0
        except OSError:
            return False

    def commit_of(self, name: str) -> str | None:
        """Return the hash of the commit that a reference, hash or HEAD leads to; None without one."""
        text, status = self.status_of("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return text.strip() if status == 0 else None

    def set_branch(self, branch: str, commit: str, was: str | None) -> None:
        """Make a branch point to a commit if it still points to `was`, or is still missing."""
        self.set_reference(f"refs/heads/{branch}", commit, was)

    def set_reference(self, reference: str, commit: str, was: str | None) -> None:
        """Make a reference point to a commit if it still points to `was`, or is still missing."""
        try:
            self.run("update-ref", "--no-deref", reference, commit, was or "0" * len(commit))
        except GitWriteError as error:
            if "status" not in error.values:
                raise
            raise GitWriteError(f"{reference} was changed by somebody else, or is locked; try again") from error

    def delete_reference(self, reference: str, was: str) -> None:
        """Delete a reference if it still points to `was`."""
        self.run("update-ref", "--no-deref", "-d", reference, was)
