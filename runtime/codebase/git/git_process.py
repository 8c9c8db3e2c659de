"""Runs read-only git commands on an untrusted repository, bounded in time and output.

A repository can name programs in its own configuration (filters, file-system monitors, hooks, external diffs) that git
would run even while reading. So git never reads that configuration, nor the user's or the machine's: it works in a
folder of our own (`git_view`), with an environment of our own. Only reading commands are run, and submodules are not
entered. A command that exceeds its time or output limit, or whose call is called off, is killed with its children; and
so is one that is slow in a work tree with a file on which git blocks, such as a named pipe called .gitignore.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from runtime.codebase.git.blocking_files import blocking_file
from runtime.codebase.git.git_folder import GitFolder, find_git_folder
from runtime.codebase.git.git_settings import WOULD_WAIT, refused
from runtime.codebase.git.git_view import AS_HASHED, build_view
from runtime.codebase.git.known_history import HistoryMemory, HistoryState, history_state
from runtime.errors import RepositoryError
from runtime.processes.programs import program_folders, run_program

TIMEOUT_S = 10.0
MAX_OUTPUT_BYTES = 4_000_000
NO_HISTORY = "the folder is no git repository with commits"

# A commit graph is a copy of what commits say of their parents, which git does not hold against them.
_WITHOUT_GRAPH = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.commitGraph", "GIT_CONFIG_VALUE_0": "false"}

_PATCHES = ("--no-ext-diff", "--no-textconv")
_COMMANDS = {
    "blame": ("--no-textconv",),
    "cat-file": (),
    "diff": (*_PATCHES, "--ignore-submodules=all", "--submodule=short"),
    "log": (*_PATCHES, "--no-show-signature", "--submodule=short"),
    "ls-files": (),
    "ls-tree": (),
    "rev-list": (),
    "rev-parse": (),
    "show": (*_PATCHES, "--no-show-signature", "--submodule=short"),
    "status": ("--ignore-submodules=all",),
}
"""The commands that may be run, each with the options that it always gets."""


class Git:
    """Runs git in the folder `root`; `run` raises RepositoryError if git is missing, fails or times out.

    The files HEAD and index are copied before the first command that is run; later changes to them are not seen.
    """

    def __init__(
        self,
        root: Path,
        memory: HistoryMemory | None = None,
        *,
        program: str = "git",
        timeout_s: float = TIMEOUT_S,
        as_hashed: bool = False,
    ) -> None:
        """Name the folder without running anything; `memory` serves several objects of one program.

        `as_hashed`: replacements, grafts and the commit graph of the repository do not count.
        """
        self._root = root
        self._as_hashed = as_hashed
        self._memory = memory
        self._program = program
        self._timeout_s = timeout_s
        self._found: tuple[str, GitFolder] | None = None
        self._prepared: tuple[str, dict[str, str]] | None = None
        self._folder: GitFolder | None = None
        self._state: HistoryState | None = None
        self._blocking: str | None = None

    @property
    def root(self) -> Path:
        """The folder in which git runs."""
        return self._root

    def run(self, command: str, *arguments: str) -> str:
        """Return the standard output of a read-only git command, cut after 4 MB."""
        return self.run_bytes(command, *arguments).decode("utf-8", "replace")

    def run_bytes(self, command: str, *arguments: str, accepted: Sequence[int] = (0,)) -> bytes:
        """Return what `run` returns, as it was printed; it is cut where it has `MAX_OUTPUT_BYTES`."""
        always = _COMMANDS.get(command)
        if always is None:
            raise RepositoryError(f"git {command} is not run; only {', '.join(_COMMANDS)} are")
        if self._blocking is not None:
            raise self._refused()
        if self._prepared is None:
            self._prepared = self._prepare()
        program, environment = self._prepared
        return self._output([program, "--no-pager", command, *always, *arguments], environment, command, accepted)

    def history(self, command: str, *arguments: str) -> str:
        """Return the output of a command that prints what HEAD alone decides, from memory if it was run before.

        Raises what `run` raises; errors are not remembered.
        """
        memory, asked = self._memory, (command, *arguments)
        if memory is None:
            return self.run(*asked)
        self._find()
        state = self._unmoved_state()
        known = None if state is None else memory.get(state, asked)
        if known is not None:
            return known
        printed = self.run(*asked)
        if state is not None and self._unmoved_state() == state:
            memory.put(state, asked, printed)
        return printed

    def _unmoved_state(self) -> HistoryState | None:
        """Return the state of the history as of the first command; None if it is another one by now."""
        if self._folder is None or self._state is None:
            return None
        return self._state if history_state(self._folder) == self._state else None

    def why_unusable(self) -> str | None:
        """Return the reason why no history can be read here; None in a git work tree with at least one commit."""
        try:
            self.history("rev-parse", "--verify", "--quiet", "HEAD")
        except RepositoryError as error:
            return NO_HISTORY if "status" in error.values else error.message
        return None

    def _find(self) -> tuple[str, GitFolder]:
        """Return the program and the folder of the repository, and note the state of its history, at the first call."""
        if self._found is not None:
            return self._found
        program = shutil.which(self._program, path=program_folders())
        if program is None:
            raise RepositoryError(f"no program {self._program} is on the PATH; install git for questions of history")
        folder = find_git_folder(self._root)
        if folder is None:
            raise RepositoryError(NO_HISTORY)
        # Before HEAD is copied: if it moves meanwhile, the state that is compared later is another one.
        if self._memory is not None:
            self._folder, self._state = folder, history_state(folder)
        self._found = program, folder
        return self._found

    def _prepare(self) -> tuple[str, dict[str, str]]:
        program, folder = self._find()
        try:
            place = Path(tempfile.mkdtemp(prefix="jeeves-git-"))
        except OSError as error:
            raise RepositoryError(f"no temporary folder can be made for git: {error.strerror}") from error
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        return program, build_view(folder, place) | (AS_HASHED | _WITHOUT_GRAPH if self._as_hashed else {})

    def _refused(self) -> RepositoryError:
        return refused(f"{self._blocking}, {WOULD_WAIT}; remove it, or give it another name")

    def _output(self, command: list[str], environment: dict[str, str], name: str, accepted: Sequence[int]) -> bytes:
        def is_blocked(has_ended: Callable[[], bool]) -> bool:
            self._blocking = blocking_file(Path(environment["GIT_WORK_TREE"]), has_ended)
            return self._blocking is not None

        try:
            data, status, late = run_program(
                command,
                cwd=self._root,
                environment=environment,
                timeout_s=self._timeout_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
                is_stuck=is_blocked,
            )
        except OSError as error:
            raise RepositoryError(
                f"git cannot be run: {error.strerror}; install it for questions of history"
            ) from error
        if self._blocking is not None and status not in accepted:
            raise self._refused()
        if late:
            raise RepositoryError(f"git {name} took longer than {self._timeout_s:g} s", timed_out=True)
        if status not in accepted and len(data) < MAX_OUTPUT_BYTES:
            raise RepositoryError(f"git {name} failed with status {status} in {self._root}", status=status)
        return data
