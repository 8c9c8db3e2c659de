"""Reads the sources of one repository, confined to its root, and keeps those that were read last."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runtime.codebase.files.paths import is_plainly_readable, readable_path
from runtime.codebase.files.source_text import MAX_READ_BYTES, SourceText, read_source
from runtime.errors import RepositoryError
from runtime.primitives.sized_cache import SizedCache

# The texts of some 300,000 lines; with the lists of their lines they take three times that.
_CACHED_BYTES = 12_000_000

_SourceKey = tuple[str, int, int]


class SourceReader:
    """Reads texts below a root that is resolved."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sources: SizedCache[_SourceKey, SourceText] = SizedCache(_CACHED_BYTES)

    def source(self, path: str, *, allow_secrets: bool = False) -> SourceText:
        """Return text and hash of a file as it is on disk now. RepositoryError if it cannot be read as text."""
        return self._plain(path) or self._followed(path, allow_secrets)

    def _plain(self, path: str) -> SourceText | None:
        """Return the text of a file that is named as the index names it; None if it may be something else, or a link.

        Searches read thousands of files, for which to follow each path takes longer than to read. No text leaves the
        root this way: it is read through folders that are opened one by one, following no link, and is taken again from
        memory where size and time are as they were.
        """
        if not is_plainly_readable(path):
            return None
        try:
            status = os.lstat(f"{self._root}/{path}")
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_READ_BYTES:
                return None
            return self._cached((path, status.st_size, status.st_mtime_ns))
        except OSError:
            # Following the path says what is wrong with it.
            return None

    def _followed(self, path: str, allow_secrets: bool) -> SourceText:
        relative = readable_path(self._root, path, allow_secrets=allow_secrets)
        try:
            status = (self._root / relative).stat()
            if not stat.S_ISREG(status.st_mode):
                raise RepositoryError(f"{relative} is not a file", path=relative)
            if status.st_size > MAX_READ_BYTES:
                raise RepositoryError(f"{relative} is too large to read: {status.st_size} bytes", path=relative)
            return self._cached((relative, status.st_size, status.st_mtime_ns))
        except FileNotFoundError as error:
            raise RepositoryError(f"no file {relative} in the repository", path=relative) from error
        except OSError as error:
            raise RepositoryError(f"{relative} cannot be read: {error.strerror}", path=relative) from error

    def _cached(self, key: _SourceKey) -> SourceText:
        source = self._sources.get(key)
        if source is None:
            source = read_source(self._root, key[0])
            if source is None:
                raise RepositoryError(f"{key[0]} is binary", path=key[0])
            self._sources.put(key, source, key[1])
        return source
