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


def until_gone(pids: list[int]) -> list[int]:
    """The processes that are still there after a while."""
    until_s = time.monotonic() + WITHIN_S
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > until_s:
            return left
        os.sched_yield()
    return []
