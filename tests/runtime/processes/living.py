"""Which processes are still there."""

from __future__ import annotations

import os
import time
from pathlib import Path

CALLED = "tests.runtime.processes.called"
WITHIN_S = 20.0


def is_running(pid: int) -> bool:
    """Whether any thread of a process is left."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX" or threads > 1


def numbers_in(notes: Path, count: int) -> list[int]:
    """The numbers of processes in a file, once so many of them are there."""
    until_s = time.monotonic() + WITHIN_S
    while True:
        found = notes.read_text().splitlines(keepends=True) if notes.exists() else []
        if len(found) >= count and found[-1].endswith("\n"):
            return [int(line) for line in found]
        assert time.monotonic() < until_s, found
        os.sched_yield()


def until_gone(pids: list[int], within_s: float = WITHIN_S) -> list[int]:
    """The processes that are still there after a while."""
    until_s = time.monotonic() + within_s
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > until_s:
            return left
        os.sched_yield()
    return []
