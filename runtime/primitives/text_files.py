"""Reads text files that a user names: settings, pipelines, model files, prompts, keys.

A name may mean a pipe, which would block the reader, or a device without an end. Only regular files are read, behind
links too, and no more of them than the bound.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_TEXT_FILE_BYTES = 4 * 1024 * 1024


def read_text_file(path: Path, max_bytes: int = MAX_TEXT_FILE_BYTES) -> str:
    """Return the UTF-8 text of a regular file of at most `max_bytes` bytes. Raises OSError and UnicodeDecodeError."""
    return read_bytes_file(path, max_bytes).decode("utf-8")


def read_bytes_file(path: Path, max_bytes: int = MAX_TEXT_FILE_BYTES) -> bytes:
    """Return the content of a regular file of at most `max_bytes` bytes. Raises OSError."""
    # Looked at before it is opened, too: opening a device may have effects.
    _require_regular(path.stat(), path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _require_regular(status, path)
        # One byte more than allowed shows that a file grew beyond the bound.
        content = file.read(max_bytes + 1) if status.st_size <= max_bytes else b""
    size = max(status.st_size, len(content))
    if size > max_bytes:
        raise OSError(errno.EFBIG, f"{size} bytes, at most {max_bytes} allowed", str(path))
    return content


def _require_regular(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file (a folder, pipe or device)", str(path))
