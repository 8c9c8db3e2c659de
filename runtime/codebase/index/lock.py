"""Locks an index file against other processes that write it."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from runtime.database.set_aside import SUFFIX
from runtime.errors import StateStorageError

LOCK_TIMEOUT_S = 600.0
_POLL_S = 0.05


@contextmanager
def writer_lock(index_path: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the write lock of an index; it is released when the process ends, in whatever way.

    StateStorageError if it could not be taken within `timeout_s` seconds.
    """
    lock_path = index_path.with_name(index_path.name + ".lock")
    deadline_s = time.monotonic() + timeout_s
    with _opened(lock_path) as lock:
        while not _try_lock(lock.fileno()):
            if time.monotonic() >= deadline_s:
                raise StateStorageError(
                    f"another process has been writing the index {index_path} for {timeout_s:.0f} s: it holds the lock "
                    f"{lock_path}; end it, or try again later",
                    path=str(index_path),
                    lock=str(lock_path),
                )
            time.sleep(_POLL_S)
        yield


def _opened(path: Path) -> IO[bytes]:
    """Open the lock, and replace what is no regular file: opening a pipe would block, and a folder cannot be locked."""
    try:
        is_usable = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        is_usable = True
    if not is_usable:
        path.replace(path.with_name(path.name + SUFFIX))
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, 0o644), "wb")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
