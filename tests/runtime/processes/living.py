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


def has_noted(notes: Path, count: int) -> bool:
    """Whether so many processes have noted their numbers in a file."""
    return notes.exists() and notes.read_text().count("\n") >= count


def numbers_in(notes: Path, count: int) -> list[int]:
    """The numbers of processes in a file, once so many of them are there."""
    until_s = time.monotonic() + WITHIN_S
    while not has_noted(notes, count):
        assert time.monotonic() < until_s, notes.read_text() if notes.exists() else "nothing is noted"
        os.sched_yield()
    return [int(line) for line in notes.read_text().splitlines()]


def until_gone(pids: list[int], within_s: float = WITHIN_S) -> list[int]:
    """The processes that are still there after a while."""
    until_s = time.monotonic() + within_s
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > until_s:
            return left
        os.sched_yield()
    return []
