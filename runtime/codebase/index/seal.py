"""Detects damage of an index file: checks its pages when something other than a refresh changed it.

After each refresh the inode, size and time of the file are recorded beside it. A file that still has them is taken
as whole; any other is checked page by page before it is used. A reader that meets damage removes the record.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from runtime.codebase.files.regular_file import read_resolved
from runtime.codebase.index import tables
from runtime.database.set_aside import SUFFIX

_SUFFIX = ".seal"
_MAX_SEAL_BYTES = 1_000
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# Other tables than ours, or a file that cannot be opened or written: in a folder that can, another one helps.
_UNUSABLE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})


def seal(index_path: Path) -> None:
    """Record the state of an index that a refresh has left whole."""
    path = _seal_of(index_path)
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        path.replace(path.with_name(path.name + SUFFIX))  # writing to a pipe would block
    path.write_text(_state(index_path), encoding="utf-8")


def break_seal(index_path: Path) -> None:
    """Make the next refresh check the pages of an index."""
    with suppress(OSError):  # a folder that cannot be written: its index is not refreshed either
        _seal_of(index_path).unlink(missing_ok=True)


def check(index_path: Path) -> None:
    """Raise IndexDamageError or sqlite3.Error for an index that cannot be used; a missing one is no fault."""
    if not os.path.lexists(index_path):
        return
    if not index_path.is_file():
        raise IndexDamageError("it is no regular file")
    known = _recorded(index_path)
    if known == _state(index_path):
        return
    with closing(tables.connect_writer(index_path)) as connection:
        if known and tables.schema_version(connection) == 0:
            raise IndexDamageError("it was cut to nothing")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise IndexDamageError(str(found))


def unbroken(index_path: Path) -> str | None:
    """Return the state of an index that is as a refresh left it; None for any other, and for a missing one."""
    try:
        state = _state(index_path)
    except OSError:
        return None
    return state if _recorded(index_path) == state else None


def _recorded(index_path: Path) -> str:
    try:
        return read_resolved(_seal_of(index_path), _MAX_SEAL_BYTES).decode()
    except (OSError, ValueError):
        return ""  # without a readable record the pages are checked


class IndexDamageError(sqlite3.DatabaseError):
    """Reports that the content of an index file cannot be used."""


def is_damage(error: BaseException) -> bool:
    """Return whether a failed query has met damaged pages."""
    return _code(error) in _DAMAGE


def can_be_rebuilt(error: BaseException) -> bool:
    """Return whether a new file would help: not if the disk is full or another process writes the index."""
    return isinstance(error, IndexDamageError) or _code(error) in _DAMAGE | _UNUSABLE


def _code(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None) if isinstance(error, sqlite3.DatabaseError) else None
    return None if code is None else code & 0xFF


def _seal_of(index_path: Path) -> Path:
    return index_path.with_name(index_path.name + _SUFFIX)


def _state(index_path: Path) -> str:
    status = index_path.stat()
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
