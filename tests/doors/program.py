"""The `jeeves` program as its users have it: a process with arguments, an environment and an exit status."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tests.doors.fork_server import fork_server

JEEVES = Path(sys.executable).with_name("jeeves")
QUICK_S = 60.0
PATIENT_S = 120.0

STOPPED_IS_NOT_HANGING = {"JEEVES_SUPERVISOR__HANGS_AFTER_S": "600"}
"""Settings of a system whose processes a test stops for as long as some commands take: none is replaced for that."""

TREE = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
"""Where the code under test is, if that is not where it is installed."""

WITHOUT_VECTORS = {"JEEVES_CODE_INDEX__EMBEDDINGS": "false"}
"""Settings of commands that make no vectors behind their answers: hundreds of tests would each load the model."""

UNHURRIED = {f"JEEVES_LIMITS__RATES__{limit}": "unlimited" for limit in ("PER_MINUTE", "PER_HOUR", "PER_DAY", "BURST")}
"""Settings of a service whose one client is a test, which asks more often than a person."""

T = TypeVar("T")


class Outcome:
    """What a finished command left behind."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def document(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object on one line."""
        assert self.out.count("\n") == 1, self.out
        read: dict[str, Any] = json.loads(self.out)
        return read

    def answers(self, status: int = 0) -> Outcome:
        """This outcome, when it has that status and nothing was complained of."""
        assert (self.status, self.err) == (status, ""), f"{self.status}: {self.err}{self.out}"
        return self

    def complains(self, status: int, *words: str) -> str:
        """The complaint: one line on standard error and nothing else, with those words in it."""
        assert self.status == status, f"{self.status}: {self.err}{self.out}"
        assert self.out == ""
        assert self.err.startswith("jeeves: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n"), self.err
        assert "\x1b" not in self.err
        for word in words:
            assert word in self.err, f"{word!r} is not in {self.err!r}"
        return self.err


class Program:
    """The program with a state folder and settings of its own.

    Without Ray, commands that are run to their end skip the start of Python (`tests.doors.fork_server`), unless `forks`
    is False or something other than Jeeves' own settings is said to be different.
    """

    forks = True

    def __init__(self, state_dir: Path, **env: str) -> None:
        self.state_dir = state_dir
        self.cwd = state_dir.parent
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(state_dir.parent / "home"),
            "LANG": "C.UTF-8",
            "JEEVES_STATE_DIR": str(state_dir),
            **TREE,
            **UNHURRIED,
            **WITHOUT_VECTORS,
            **env,
        }

    def start(
        self, *args: str | bytes | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """The command, running."""
        return subprocess.Popen(
            [JEEVES, *args],
            cwd=cwd or self.cwd,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            **options,
        )

    def run(
        self,
        *args: str | bytes | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = PATIENT_S,
        **options: Any,
    ) -> Outcome:
        """The command, finished."""
        whole = {**self.env, **(env or {})}
        in_process = whole.get("JEEVES_RAY__MODE") == "in_process"
        if self.forks and in_process and not options and all(name.startswith("JEEVES_") for name in env or {}):
            return Outcome(*fork_server().run(args, cwd or self.cwd, whole, timeout_s))
        process = self.start(*args, cwd=cwd, env=env, **options)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return Outcome(process.returncode, out, err)

    def ask(self, question: str | bytes, repo: str | bytes | Path, *args: str, **options: Any) -> Outcome:
        """`jeeves ask --json`."""
        return self.run("ask", question, "--repo", repo, "--json", *args, **options)


def wait_until(condition: Callable[[], T], timeout_s: float = PATIENT_S) -> T:
    """What `condition` gives once it is true."""
    deadline_s = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"not within {timeout_s:g} s"
        time.sleep(0.02)
    return found


def snapshot(folder: Path) -> dict[str, str]:
    """Everything below a folder by path: content, link target or kind, and when it was last changed."""

    def walk(below: Path) -> Iterator[tuple[str, str]]:
        for path in sorted(below.iterdir()):
            changed = path.lstat().st_mtime_ns
            if path.is_symlink():
                yield str(path), f"link to {path.readlink()} {changed}"
            elif path.is_dir():
                yield str(path), f"folder {changed}"
                yield from walk(path)
            elif path.is_file() and os.access(path, os.R_OK):
                yield str(path), f"{hashlib.sha256(path.read_bytes()).hexdigest()} {changed}"
            else:
                yield str(path), f"other {changed}"

    return dict(walk(folder))


def processes_that_mention(text: str) -> list[int]:
    """Processes, other than this one, with `text` in their command line, environment or working directory."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            known += os.fsencode((folder / "cwd").readlink())
        except OSError:
            # It ended while it was looked at, or belongs to somebody else; neither is ours.
            continue
        if text.encode() in known:
            found.append(int(folder.name))
    return found


def listening_hosts(pids: list[int]) -> set[str]:
    """Addresses at which processes listen for TCP, as the kernel writes them: hexadecimal, ports left out."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
    ]
    # Fields 1, 3 and 9 are the local address, the state (0A: listening) and the socket's inode.
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and line[9] in inodes}


def _sockets(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed while it was looked at
            found.add(str(entry.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found
