"""Runs read-only git commands on an untrusted repository, bounded in time and output.

A repository can name programs in its own configuration (filters, file-system monitors, hooks, external diffs) that git
would run even while reading. So git never reads that configuration, nor the user's or the machine's: it works in a
folder of our own (`git_view`), with an environment of our own. Only reading commands are run, and submodules are not
entered. A command that exceeds its time or output limit is killed together with its process group.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from pathlib import Path

from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_view import build_view, program_folders
from runtime.errors import RepositoryError

TIMEOUT_S = 10.0
MAX_OUTPUT_BYTES = 4_000_000
NO_HISTORY = "the folder is no git repository with commits"

_PATCHES = ("--no-ext-diff", "--no-textconv")
_COMMANDS = {
    "blame": ("--no-textconv",),
    "diff": (*_PATCHES, "--ignore-submodules=all", "--submodule=short"),
    "log": (*_PATCHES, "--no-show-signature", "--submodule=short"),
    "ls-tree": (),
    "rev-list": (),
    "rev-parse": (),
    "show": (*_PATCHES, "--no-show-signature", "--submodule=short"),
    "status": ("--ignore-submodules=all",),
}
"""The commands that may be run, each with the options that it always gets."""


class Git:
    """Runs git in the folder `root`; `run` raises RepositoryError if git is missing, fails or times out.

    The files HEAD and index are copied at the first command; later changes to them are not seen.
    """

    def __init__(self, root: Path, *, program: str = "git", timeout_s: float = TIMEOUT_S) -> None:
        self._root = root
        self._program = program
        self._timeout_s = timeout_s
        self._prepared: tuple[str, dict[str, str]] | None = None

    def run(self, command: str, *arguments: str) -> str:
        """Return the standard output of a read-only git command, cut after 4 MB."""
        always = _COMMANDS.get(command)
        if always is None:
            raise RepositoryError(f"git {command} is not run; only {', '.join(_COMMANDS)} are")
        if self._prepared is None:
            self._prepared = self._prepare()
        program, environment = self._prepared
        return self._output([program, "--no-pager", command, *always, *arguments], environment, command)

    def why_unusable(self) -> str | None:
        """Return the reason why no history can be read here; None in a git work tree with at least one commit."""
        try:
            self.run("rev-parse", "--verify", "--quiet", "HEAD")
        except RepositoryError as error:
            return NO_HISTORY if "status" in error.values else error.message
        return None

    def _prepare(self) -> tuple[str, dict[str, str]]:
        program = shutil.which(self._program, path=program_folders())
        if program is None:
            raise RepositoryError(f"no program {self._program} is on the PATH; install git for questions of history")
        folder = find_git_folder(self._root)
        if folder is None:
            raise RepositoryError(NO_HISTORY)
        try:
            place = Path(tempfile.mkdtemp(prefix="jeeves-git-"))
        except OSError as error:
            raise RepositoryError(f"no temporary folder can be made for git: {error.strerror}") from error
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        return program, build_view(folder, place)

    def _output(self, command: list[str], environment: dict[str, str], name: str) -> str:
        try:
            process = subprocess.Popen(
                command,
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise RepositoryError(
                f"git cannot be run: {error.strerror}; install it for questions of history"
            ) from error
        data, status, late = _finish(process, self._timeout_s)
        if late:
            raise RepositoryError(f"git {name} took longer than {self._timeout_s:g} s", timed_out=True)
        if status != 0 and len(data) < MAX_OUTPUT_BYTES:
            raise RepositoryError(f"git {name} failed with status {status} in {self._root}", status=status)
        return data.decode("utf-8", "replace")


def _finish(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[bytes, int, bool]:
    """Return the output of a process, its exit status, and whether it was killed for exceeding the time limit.

    The process is not reaped before the last signal is sent, so that its group id cannot have been reused by then.
    """
    late = threading.Event()

    def end_late() -> None:
        late.set()
        _kill_group(process)

    timer = threading.Timer(timeout_s, end_late)
    timer.start()
    with process:
        try:
            data = process.stdout.read(MAX_OUTPUT_BYTES) if process.stdout else b""
            if len(data) < MAX_OUTPUT_BYTES:
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            timer.cancel()
            timer.join()
            _kill_group(process)
        return data, process.wait(), late.is_set()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # A group that has nothing but its ended leader may be gone already, or, on some systems, be out of reach.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
