"""Locks an index file against other processes that write it, and waits for programs that lock it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from runtime.database.set_aside import SUFFIX
from runtime.errors import StateStorageError

LOCK_TIMEOUT_S = 600.0
LOCK_TOLD_AFTER_S = 10.0
BUSY_TIMEOUT_S = 60.0
BUSY_TOLD_AFTER_S = 2.0
_POLL_S = 0.05

OnWait = Callable[[str], None]
"""Takes a sentence: which file is waited for, who has it, how long, and what ends the wait."""


def ignore_wait(_sentence: str) -> None:
    """Ignore that a lock is waited for."""


@contextmanager
def writer_lock(
    index_path: Path,
    timeout_s: float = LOCK_TIMEOUT_S,
    on_wait: OnWait = ignore_wait,
    told_after_s: float = LOCK_TOLD_AFTER_S,
) -> Iterator[None]:
    """Hold the write lock of an index; it is released when the process ends, in whatever way.

    `on_wait` is called once, after `told_after_s`. StateStorageError if the lock is not free within `timeout_s`.
    """
    lock_path = index_path.with_name(index_path.name + ".lock")
    started_s, is_told = time.monotonic(), False
    with _opened(lock_path) as lock:
        while not _try_lock(lock.fileno()):
            waited_s = time.monotonic() - started_s
            if waited_s >= told_after_s and not is_told:
                is_told = True
                on_wait(
                    f"waiting up to {timeout_s:.0f} s for the index {index_path}: another jeeves process is writing it "
                    f"and holds the lock {lock_path}; end that process to go on at once"
                )
            if waited_s >= timeout_s:
                raise StateStorageError(
                    f"another process has been writing the index {index_path} for {timeout_s:.0f} s: it holds the lock "
                    f"{lock_path}; end it, or try again later",
                    path=str(index_path),
                    lock=str(lock_path),
                )
            time.sleep(_POLL_S)
        yield


def await_other_programs(
    index_path: Path,
    on_wait: OnWait = ignore_wait,
    timeout_s: float = BUSY_TIMEOUT_S,
    told_after_s: float = BUSY_TOLD_AFTER_S,
) -> None:
    """Return once no other program has locked the database of an index; a file that is no database is left to others.

    `on_wait` is called once, after `told_after_s`. StateStorageError if it is locked for `timeout_s` seconds.
    """
    if not index_path.is_file() or not _is_busy(index_path, told_after_s):
        return
    on_wait(
        f"waiting up to {timeout_s:.0f} s for the index {index_path}: another program has locked this database; "
        "end that program, or its transaction, to go on at once"
    )
    if _is_busy(index_path, timeout_s - told_after_s):
        raise StateStorageError(
            f"another program has had the index {index_path} locked for {timeout_s:.0f} s; end that program, or its "
            "transaction, or try again later",
            path=str(index_path),
        )


def _is_busy(index_path: Path, patience_s: float) -> bool:
    """Return whether a database cannot be locked for writing within some seconds because another connection has."""
    try:
        with closing(sqlite3.connect(index_path, timeout=max(patience_s, 0.0), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_BUSY
    return False


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
