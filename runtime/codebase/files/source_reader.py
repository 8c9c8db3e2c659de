"""Reads the sources of one repository, confined to its root, and keeps those that were read last.

A text is taken from memory again while the status of its file is as it was when it was read. A program can set the time
of a file's last edit, but not that of its last change of status (`ctime`). A file that had changed less than two
seconds before it was read may change again within the resolution of its times: its bytes are read and hashed anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from runtime.codebase.files.folder_memory import STATUS_FIELDS, Status, is_still
from runtime.codebase.files.paths import is_plainly_readable, readable_path
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import MAX_READ_BYTES, ReadSource, SourceText, from_bytes, is_binary
from runtime.errors import RepositoryError
from runtime.primitives.sized_cache import SizedCache

# The texts of some 300,000 lines; with the lists of their lines they take three times that.
KEPT_BYTES = 12_000_000


def _ignore(_source: SourceText) -> None:
    return None


class _Kept(NamedTuple):
    """Holds a text, and the status that its file had before it was read; `is_settled`: a change would change that."""

    status: tuple[int, ...]
    source: SourceText
    is_settled: bool


class SourceReader:
    """Reads texts below a root that is resolved."""

    def __init__(
        self, root: Path, now_ns: Callable[[], int] = time.time_ns, on_new: Callable[[SourceText], object] = _ignore
    ) -> None:
        """Read nothing yet; `on_new` is given each text that is not kept, before anybody else has it."""
        self._on_new = on_new
        self._root = root
        self._below = f"{root}/"
        self._now_ns = now_ns
        self._kept: SizedCache[str, _Kept] = SizedCache(KEPT_BYTES)

    def source(self, path: str, *, allow_secrets: bool = False) -> SourceText:
        """Return text and hash of a file as it is on disk now. RepositoryError if it cannot be read as text."""
        return self._plain(path, {}) or self._followed(path, allow_secrets)

    def of_call(self, *, allow_secrets: bool = False) -> ReadSource:
        """Return a function that reads each source once, for searches of one call; None for one that cannot be read.

        Texts beyond 12 MB are read again when they are wanted again.
        """
        known: dict[str, SourceText | None] = {}
        folders: dict[str, bool] = {}
        left_bytes = KEPT_BYTES

        def read(path: str) -> SourceText | None:
            nonlocal left_bytes
            if path in known:
                return known[path]
            try:
                source = self._plain(path, folders) or self._followed(path, allow_secrets)
            except RepositoryError:
                source = None
            left_bytes -= 0 if source is None else len(source.text)
            if left_bytes >= 0:
                known[path] = source
            return source

        return read

    def _plain(self, path: str, folders: dict[str, bool]) -> SourceText | None:
        """Return the text of a file that is named as the index names it; None if it may be something else, or a link.

        Searches read thousands of files, for which to follow each path takes longer than to read. No text leaves the
        root this way: it is read through folders that are opened one by one, following no link, and is taken again from
        memory where the file is as it was and no folder on its way is a link. `folders`: those that have been examined.
        """
        if not is_plainly_readable(path):
            return None
        try:
            found = os.lstat(self._below + path)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_READ_BYTES:
                return None
            return self._current(path, found, folders)
        except OSError:
            # Following the path says what is wrong with it.
            return None

    def _followed(self, path: str, allow_secrets: bool) -> SourceText:
        relative = readable_path(self._root, path, allow_secrets=allow_secrets)
        try:
            found = (self._root / relative).stat()
            if not stat.S_ISREG(found.st_mode):
                raise RepositoryError(f"{relative} is not a file", path=relative)
            if found.st_size > MAX_READ_BYTES:
                raise RepositoryError(f"{relative} is too large to read: {found.st_size} bytes", path=relative)
            return self._current(relative, found, {})
        except FileNotFoundError as error:
            raise RepositoryError(f"no file {relative} in the repository", path=relative) from error
        except OSError as error:
            raise RepositoryError(f"{relative} cannot be read: {error.strerror}", path=relative) from error

    def _current(self, path: str, found: os.stat_result, folders: dict[str, bool]) -> SourceText:
        kept, status = self._kept.get(path), STATUS_FIELDS(found)
        if kept is not None and kept.is_settled and kept.status == status and self._is_below_folders(path, folders):
            return kept.source
        is_settled = is_still(Status._make(status), self._now_ns())
        data = read_below(self._root, path, MAX_READ_BYTES)
        if is_binary(data):
            raise RepositoryError(f"{path} is binary", path=path, kind="binary")
        is_same = kept is not None and kept.source.sha256 == hashlib.sha256(data).hexdigest()
        if kept is not None and is_same:
            source = kept.source
        else:
            source = from_bytes(data)
            self._on_new(source)
        self._kept.put(path, _Kept(status, source, is_settled), len(data))
        return source

    def _is_below_folders(self, path: str, folders: dict[str, bool]) -> bool:
        """Return whether no part of a path before its name is a link: a folder may be moved, and a link put there."""
        folder = path.rpartition("/")[0]
        if not folder:
            return True
        if folder not in folders:
            is_folder = stat.S_ISDIR(os.lstat(self._below + folder).st_mode)
            folders[folder] = is_folder and self._is_below_folders(folder, folders)
        return folders[folder]
