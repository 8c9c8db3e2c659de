"""Confines paths from outside to readable files below the repository root."""

from __future__ import annotations

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
    try:
        resolved = (root / path.strip()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise path_denied(f"{path} cannot be followed: {error}", path) from error
    if not resolved.is_relative_to(root):
        raise path_denied(f"{path} lies outside the repository", path)
    relative = resolved.relative_to(root)
    if _FORBIDDEN_PARTS.intersection(relative.parts):
        raise path_denied(f"{path} is version-control data and is not read", path)
    return relative.as_posix()


def readable_path(root: Path, path: str, *, allow_secrets: bool = False) -> str:
    """Return the path as `relative_to_root` does, for a file to be read: secrets are refused too."""
    relative = relative_to_root(root, path)
    if not allow_secrets and (is_secret(relative) or is_secret(PurePosixPath(path.strip()).as_posix())):
        raise path_denied(f"{path} may hold secrets and is not read", path)
    return relative
