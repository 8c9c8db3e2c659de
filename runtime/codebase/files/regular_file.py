"""Opens files of an untrusted repository: regular files only, bounded in size, without blocking.

A name may mean a device, a pipe or a file of terabytes, and may mean another thing when it is opened than when it was
listed. So the kind and size of a file are examined once it is open, and no more than the bound is read, even from a
file that grows meanwhile. Everything of a repository that Jeeves reads is opened here.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
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
    with _folder_below(root, folders, path) as held:
        # What is no regular file is not even opened, where that can be seen before: opening may have effects.
        _require_regular(os.stat(name, dir_fd=held, follow_symlinks=False), path)
        opened = _opened(name, _FLAGS | os.O_NOFOLLOW, held, path)
    return _content(opened, path, max_bytes)


def names_below(root: Path, path: str, limit: int) -> list[str]:
    """Return the names in the folder at `path` below `root`, in order, without following links; none if it is missing.

    At most `limit` names are looked at. NotRegularError if a part of the path is a link or no folder.
    """
    try:
        with _folder_below(root, path.split("/"), path) as folder, os.scandir(folder) as items:
            return sorted(item.name for item in itertools.islice(items, limit))
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise NotRegularError(errno.ENOTDIR, "it is, or lies behind, something that is no folder", path) from error


def replace_below(root: Path, path: str, content: bytes) -> None:
    """Write the file at `path` below `root` at once, making its folders, and following no link. Raises OSError."""
    *folders, name = path.split("/")
    with _folder_below(root, folders, path, is_made=True) as folder:
        fresh = f".{name}.{secrets.token_hex(4)}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        written = os.open(fresh, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(written, "wb") as file:
                file.write(content)
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(fresh, dir_fd=folder)
            raise


def remove_below(root: Path, path: str) -> None:
    """Remove the file at `path` below `root`, if there is one, following no link. Raises OSError."""
    *folders, name = path.split("/")
    with contextlib.suppress(FileNotFoundError), _folder_below(root, folders, path) as folder:
        os.unlink(name, dir_fd=folder)


@contextlib.contextmanager
def _folder_below(root: Path, folders: Sequence[str], path: str, *, is_made: bool = False) -> Iterator[int]:
    """Yield the descriptor of a folder below `root`, which is reached through no link."""
    held = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            if is_made:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=held)
            inner = _opened(folder, _FOLDER, held, path)
            os.close(held)
            held = inner
        yield held
    finally:
        os.close(held)


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
