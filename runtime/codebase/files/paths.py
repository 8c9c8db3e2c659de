"""Confinement: every path that comes from outside leads to a readable file below the root, or nowhere."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from runtime.codebase.files.walk import is_secret
from runtime.errors import RepositoryError

_FORBIDDEN_PARTS = frozenset({".git", ".hg", ".svn"})


def path_denied(message: str, path: str) -> RepositoryError:
    """The error for a path that leads out of the repository, or to something that may not be read."""
    return RepositoryError(message, path=path, denied=True)


def is_denied(error: RepositoryError) -> bool:
    """True for an error that `path_denied` made, as against a file that is missing or cannot be read."""
    return bool(error.values.get("denied"))


def relative_to_root(root: Path, path: str) -> str:
    """The path from the root with forward slashes, links resolved; the root itself is `.`.

    `root` must be resolved; `path` may be absolute or relative to it and need not exist. A denial (see `path_denied`)
    when it leads outside, into version-control data, or is no path at all.
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
    """Like `relative_to_root`, for a file that is about to be read: secrets are refused too."""
    relative = relative_to_root(root, path)
    if not allow_secrets and (is_secret(relative) or is_secret(PurePosixPath(path.strip()).as_posix())):
        raise path_denied(f"{path} may hold secrets and is not read", path)
    return relative
