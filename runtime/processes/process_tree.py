"""Kills a process with all its descendants, in whatever process group or session they are.

Descendants are found through `/proc`. Where there is none (macOS), only the process group of the process is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
from pathlib import Path

FINISH_S = 2.0
# Processes that start others while they are killed may take several.
MAX_ROUNDS = 50
_PROC = Path("/proc")
# Held by the thread that ends the process, which may still kill, while the others stop somewhere.
_killing = threading.RLock()
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def kill_tree(pid: int) -> None:
    """Kill the group leader `pid`, its group and its descendants. The caller must not have reaped it yet.

    Each process is stopped before its children are listed, so that none can start another one unseen, and no number can
    be given to another process before the kill.
    """
    with _killing:
        stopped: set[int] = set()
        frontier = {pid}
        while frontier:
            for each in frontier:
                _send(each, signal.SIGSTOP)
            stopped |= frontier
            frontier = _children(stopped) - stopped
        for each in stopped:
            _send(each, signal.SIGKILL)
        kill_group(pid)


@functools.cache
def finish_kills_at_exit() -> None:
    """Have this process call `finish_kills` when it exits; the second call does nothing."""
    atexit.register(finish_kills)


def finish_kills() -> None:
    """Wait until no `kill_tree` is half done, and let none begin: call it where this process ends.

    Its other threads stop anywhere then, and a process that is stopped but not killed would stay for ever. What is not
    killed yet ends with this process, its parent.
    """
    _killing.acquire(timeout=FINISH_S)


def kill_group(pid: int) -> None:
    """Kill the process group of the leader `pid`, which the caller must not have reaped yet."""
    # A group with nothing but its exited leader may be gone already or, on some systems, not permitted to signal.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill everything that this process has started or adopted, and not yet waited for."""
    while children := _children({os.getpid()}):
        for child in children:
            kill_tree(child)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def kill_marked(mark: str) -> None:
    """Kill every process whose environment held the entry `mark`, `NAME=VALUE`, when it began. Linux only.

    So are those found that left their group and session and lost their parent. The mark has to be nobody else's.
    """
    wanted = os.fsencode(mark)
    for _ in range(MAX_ROUNDS):
        found = [pid for pid in _processes() if pid != os.getpid() and wanted in _environment(pid)]
        if not found:
            return
        for pid in found:
            _send(pid, signal.SIGKILL)


def _environment(pid: int) -> list[bytes]:
    # Of a process that has ended, and is not waited for yet, it is empty.
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # it has ended, or is another user's


def _processes() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()] if _PROC.is_dir() else []  # noqa: PTH208


def adopt_orphans() -> None:
    """Let orphaned descendants of this process become its children, so that `kill_tree` finds them. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Let this process be killed when the thread that forked it ends. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _send(pid: int, number: signal.Signals) -> None:
    # It has ended meanwhile, or its id belongs to somebody else by now.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _children(parents: set[int]) -> set[int]:
    return {pid for pid in _processes() if _parent(pid) in parents}


def _parent(pid: int) -> int | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name of the program, in parentheses, may itself hold blanks and parentheses.
    return int(stat.rpartition(b")")[2].split()[1])
