"""Marks lock files with the process that made them, so that those of a killed one are removed.

A mark says who holds a lock: host, namespace of processes, boot, process and when that process began. Only where all of
that says that the process is gone is a lock abandoned. The lock of another program holds no mark, and stays.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
from pathlib import Path

import msgspec

from runtime.codebase.files.regular_file import read_start

MAX_MARK_BYTES = 1_000
_MADE_BY = "jeeves"
# In /proc/PID/stat the process's start is the 22nd field, the 20th behind the name in parentheses.
_START_FIELD = 19
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class _Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    made_by: str
    host: str
    namespace: str
    boot: str
    pid: int
    began: str


def take_marked(lock: Path) -> None:
    """Make a lock file that holds our mark from its first moment on; FileExistsError if it is there. Raises OSError."""
    mark = msgspec.json.encode(_Mark(_MADE_BY, *_place(), os.getpid(), _began(os.getpid())))
    beside = lock.with_name(f"{lock.name}.jeeves-{secrets.token_hex(4)}")
    _write_new(beside, mark)
    try:
        os.link(beside, lock)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has hard links. A kill before this has written leaves a lock that nobody can judge.
        _write_new(lock, mark)
    finally:
        beside.unlink(missing_ok=True)


def remove_abandoned(lock: Path) -> bool:
    """Remove a lock file that was made here by a process that is gone; return whether it was removed."""
    if not _is_abandoned(lock):
        return False
    try:
        folder = os.open(lock.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        # Whoever removes locks does it one after another: one that was taken anew meanwhile is another one.
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not _is_abandoned(lock):
            return False
        lock.unlink()
        for left in lock.parent.glob(f"{lock.name}.jeeves-*"):
            if _is_abandoned(left):
                left.unlink(missing_ok=True)
        return True
    except OSError:
        return False
    finally:
        os.close(folder)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _is_abandoned(lock: Path) -> bool:
    try:
        mark = msgspec.json.decode(read_start(lock, MAX_MARK_BYTES), type=_Mark)
    except (OSError, ValueError):
        return False
    host, namespace, boot = _place()
    if mark.made_by != _MADE_BY or mark.host != host:
        return False
    if mark.boot != boot:
        return bool(mark.boot and boot)
    # A process of another namespace is none that could be looked for here.
    return mark.namespace == namespace and not _is_alive(mark.pid, mark.began)


def _place() -> tuple[str, str, str]:
    """Return host, namespace of processes and boot; the latter two are empty where the system tells none."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        namespace, boot = "", ""
    return socket.gethostname(), namespace, boot


def _is_alive(pid: int, began: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is there and somebody else's.
        return True
    now = _began(pid)
    return not (began and now) or now == began


def _began(pid: int) -> str:
    """Return when a process began, in ticks since the boot; empty where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return told.rpartition(")")[2].split()[_START_FIELD]
    except (OSError, IndexError):
        return ""
