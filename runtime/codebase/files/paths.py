"""Confines paths from outside to readable files below the repository root."""

from __future__ import annotations

import errno
import functools
import os
from pathlib import Path, PurePosixPath

from runtime.codebase.files.walk import is_secret
from runtime.errors import RepositoryError

_FORBIDDEN_PARTS = frozenset({".git", ".hg", ".svn"})


def path_denied(message: str, path: str) -> RepositoryError:
    """Return the error for a path that leads out of the repository, or to a file that must not be read."""
    return RepositoryError(message, path=path, denied=True)


def is_denied(error: RepositoryError) -> bool:
    """Return True for an error made by `path_denied`, as opposed to a missing or unreadable file."""
    return bool(error.values.get("denied"))


def relative_to_root(root: Path, path: str) -> str:
    """Return the path relative to the root with forward slashes, links resolved; the root itself is `.`.

    `root` must be resolved; `path` may be absolute or relative to it and need not exist. RepositoryError (see
    `path_denied`) if it leads outside or into version-control data, or is not a valid path.
    """
    if "\0" in path:
        raise path_denied("a path cannot hold a NUL character", path)
    # By strings: tools ask for hundreds of paths in a call, for which Path objects take longer than the file system.
    try:
        resolved = os.path.realpath(os.path.join(root, path.strip()))  # noqa: PTH118 - as said
        _require_end(resolved)
    except (OSError, ValueError) as error:
        raise path_denied(f"{path} cannot be followed: {error}", path) from error
    top = str(root)
    if resolved == top:
        return "."
    below = top if top.endswith("/") else f"{top}/"
    if not resolved.startswith(below):
        raise path_denied(f"{path} lies outside the repository", path)
    relative = resolved.removeprefix(below)
    if not _FORBIDDEN_PARTS.isdisjoint(relative.split("/")):
        raise path_denied(f"{path} is version-control data and is not read", path)
    return relative


def _require_end(resolved: str) -> None:
    """Raise OSError for links that lead back to themselves, which are left in a path as they are."""
    try:
        os.stat(resolved)  # noqa: PTH116 - as said above
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise


def readable_path(root: Path, path: str, *, allow_secrets: bool = False) -> str:
    """Return the path as `relative_to_root` does, for a file to be read: secrets are refused too."""
    relative = relative_to_root(root, path)
    named = path.strip()
    is_named_otherwise = named != relative and is_secret(PurePosixPath(named).as_posix())
    if not allow_secrets and (is_named_otherwise or is_secret(relative)):
        raise path_denied(f"{path} may hold secrets and is not read", path)
    return relative


@functools.lru_cache(maxsize=65_536)
def is_plainly_readable(path: str) -> bool:
    """Return whether a path as it is written names a readable file below the root, if none of its parts is a link.

    It is relative, without `.`, `..` or blank parts, and neither version-control data nor a file that may hold secrets.
    """
    parts = path.split("/")
    if "\0" in path or path != path.strip() or not {"", ".", ".."}.isdisjoint(parts):
        return False
    return _FORBIDDEN_PARTS.isdisjoint(parts) and not is_secret(path)
