"""Opens files of an untrusted repository: regular files only, bounded in size, without blocking.

A name may mean a device, a pipe or a file of terabytes, and may mean another thing when it is opened than when it was
listed. So the kind and size of a file are examined once it is open, and no more than the bound is read, even from a
file that grows meanwhile. Everything of a repository that Jeeves reads is opened here.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_COPIED_BYTES = 1 << 20


class NotRegularError(OSError):
    """Reports a name that is no regular file: a folder, link, device, pipe or socket."""


class TooLargeError(OSError):
    """Reports a file with more bytes than may be read."""


def read_below(root: Path, path: str, max_bytes: int) -> bytes:
    """Return the content of the file at `path`, relative to the folder `root`, without following links below it.

    NotRegularError, TooLargeError for more than `max_bytes`, or any other OSError.
    """
    *folders, name = path.split("/")
    held = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = _opened(folder, _FOLDER, held, path)
            os.close(held)
            held = inner
        # What is no regular file is not even opened, where that can be seen before: opening may have effects.
        _require_regular(os.stat(name, dir_fd=held, follow_symlinks=False), path)
        opened = _opened(name, _FLAGS | os.O_NOFOLLOW, held, path)
    finally:
        os.close(held)
    return _content(opened, path, max_bytes)


def read_resolved(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file whose links have been judged by the caller, and are followed. Errors: `read_below`.

    ValueError for a path that cannot be one.
    """
    _require_regular(path.stat(), str(path))
    return _content(os.open(path, _FLAGS), str(path), max_bytes)


def read_start(path: Path, max_bytes: int) -> bytes:
    """Return the first `max_bytes` of a file as `read_resolved` does, however large it is."""
    _require_regular(path.stat(), str(path))
    return _content(os.open(path, _FLAGS), str(path), max_bytes, is_cut=True)


def copy_resolved(source: Path, target: Path, max_bytes: int) -> None:
    """Copy a file, which is read as by `read_resolved`, with its time of modification."""
    _require_regular(source.stat(), str(source))
    descriptor = os.open(source, _FLAGS)
    with os.fdopen(descriptor, "rb") as file, target.open("wb") as copy:
        status = _checked(descriptor, str(source), max_bytes)
        left = max_bytes
        while left > 0 and (piece := file.read(min(left, _COPIED_BYTES))):
            copy.write(piece)
            left -= len(piece)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _opened(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        # A link, where none may be, is one or the other, by system and kind.
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise NotRegularError(errno.ELOOP, "it is, or lies behind, a link", path) from error
        raise


def _content(descriptor: int, path: str, max_bytes: int, *, is_cut: bool = False) -> bytes:
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = _checked(descriptor, path, None if is_cut else max_bytes)
        limit = max_bytes if is_cut else max_bytes + 1
        pieces: list[bytes] = []
        size = 0
        while size < limit and (piece := file.read(min(limit - size, max(status.st_size - size, 0) + 1))):
            pieces.append(piece)
            size += len(piece)
    if size > max_bytes:
        raise TooLargeError(errno.EFBIG, f"it grew beyond the {max_bytes} bytes that are read", path)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _checked(descriptor: int, path: str, max_bytes: int | None) -> os.stat_result:
    status = os.fstat(descriptor)
    _require_regular(status, path)
    if max_bytes is not None and status.st_size > max_bytes:
        raise TooLargeError(errno.EFBIG, f"it has {status.st_size} bytes, at most {max_bytes} are read", path)
    return status


def _require_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "it is no regular file", path)
