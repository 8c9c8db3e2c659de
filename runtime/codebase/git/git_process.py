"""Running git on a repository that is not trusted: read-only, bounded in time and output, and nothing of it executed.

A repository can name programs in its own configuration (filters, file-system monitors, hooks, external diffs) that git
would run while it merely reads. All of them are switched off here. A command that takes too long is killed.
"""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from runtime.errors import RepositoryError

TIMEOUT_S = 10.0
MAX_OUTPUT_BYTES = 4_000_000

_SAFE = (
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
    *("-c", "diff.external=", "-c", "log.showSignature=false", "-c", "color.ui=false", "-c", "core.pager=cat"),
    *("-c", "protocol.allow=never", "-c", "blame.ignoreRevsFile="),
)
_FORGOTTEN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_TRACE")
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


class Git:
    """git in the folder `root`. Every method raises RepositoryError when git is missing, fails or takes too long."""

    def __init__(self, root: Path, *, program: str = "git", timeout_s: float = TIMEOUT_S) -> None:
        self._root = root
        self._program = program
        self._timeout_s = timeout_s
        self._options: tuple[str, ...] | None = None

    def run(self, *arguments: str) -> str:
        """Standard output of a git command that only reads, cut after 4 MB."""
        if self._options is None:
            self._options = _SAFE
            self._options = (*_SAFE, *self._without_filters())
            self._check_work_tree()
        return self._output(arguments)

    def is_repository(self) -> bool:
        """True below a git work tree with at least one commit."""
        try:
            return bool(self.run("rev-parse", "--verify", "--quiet", "HEAD").strip())
        except RepositoryError:
            return False

    def _without_filters(self) -> list[str]:
        """Options that switch off the filters that the repository itself configures."""
        listed = self._output(("config", "--show-scope", "--name-only", "--get-regexp", r"^filter\."), (0, 1))
        own = (line.split("\t", 1)[1] for line in listed.splitlines() if line.startswith(("local\t", "worktree\t")))
        drivers = {key.removeprefix("filter.").rpartition(".")[0] for key in own}
        settings = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        return [
            part
            for name in sorted(drivers)
            for key, value in settings
            for part in ("-c", f"filter.{name}.{key}={value}")
        ]

    def _check_work_tree(self) -> None:
        top = Path(self._output(("rev-parse", "--show-toplevel")).strip())
        if not self._root.is_relative_to(top.resolve()):
            raise RepositoryError(f"git takes {top} for the work tree of {self._root}; it is not used")

    def _output(self, arguments: tuple[str, ...], expected: tuple[int, ...] = (0,)) -> str:
        command = [self._program, *(self._options or _SAFE), *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in _FORGOTTEN} | _ENVIRONMENT
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
        late = threading.Event()
        timer = threading.Timer(self._timeout_s, _kill, (process, late))
        timer.start()
        with process:
            try:
                data = process.stdout.read(MAX_OUTPUT_BYTES) if process.stdout else b""
                cut = len(data) == MAX_OUTPUT_BYTES
                if cut:
                    process.kill()
                status = process.wait()
            finally:
                timer.cancel()
        if late.is_set():
            raise RepositoryError(f"git {arguments[0]} took longer than {self._timeout_s:g} s", timed_out=True)
        if status not in expected and not cut:
            raise RepositoryError(f"git {arguments[0]} failed with status {status} in {self._root}")
        return data.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()
