"""Describes the files of a walk, those that are skipped with the reason."""

from __future__ import annotations

from typing import Literal, NamedTuple

SkipReason = Literal[
    "too_large", "secret", "symlink_outside", "symlink_duplicate", "unreadable", "not_a_file", "binary"
]


class FileEntry(NamedTuple):
    """Describes a file: `path` relative to the root with forward slashes; `skip_reason` is None if it may be read."""

    path: str
    size: int
    mtime_ns: int
    language: str | None
    skip_reason: SkipReason | None = None
