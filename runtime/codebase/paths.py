"""Confinement: every path that comes from outside leads to a readable file below the root, or nowhere."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from runtime.codebase.walk import is_secret
from runtime.errors import RepositoryError

_FORBIDDEN_PARTS = frozenset({".git", ".hg", ".svn"})


class PathDeniedError(RepositoryError):
    """A path leads out of the repository, or to something that may not be read."""

    code = "path_denied"


def relative_to_root(root: Path, path: str) -> str:
    """The path from the root with forward slashes, links resolved; the root itself is `.`.

    `root` must be resolved; `path` may be absolute or relative to it and need not exist. PathDeniedError when it leads
    outside, into version-control data, or is no path at all.
    """
    if "\0" in path:
        raise PathDeniedError("a path cannot hold a NUL character", path=path)
    try:
        resolved = (root / path.strip()).resolve()
    except (OSError, RuntimeError) as error:
        raise PathDeniedError(f"{path} cannot be followed: {error}", path=path) from error
    if not resolved.is_relative_to(root):
        raise PathDeniedError(f"{path} lies outside the repository", path=path)
    relative = resolved.relative_to(root)
    if _FORBIDDEN_PARTS.intersection(relative.parts):
        raise PathDeniedError(f"{path} is version-control data and is not read", path=path)
    return relative.as_posix()


def readable_path(root: Path, path: str, *, allow_secrets: bool = False) -> str:
    """Like `relative_to_root`, for a file that is about to be read: secrets are refused too."""
    relative = relative_to_root(root, path)
    if not allow_secrets and (is_secret(relative) or is_secret(PurePosixPath(path.strip()).as_posix())):
        raise PathDeniedError(f"{path} may hold secrets and is not read", path=path)
    return relative
