"""Reads the files of a repository as they were where a branch began, without checking anything out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from runtime.codebase.git.git_process import MAX_OUTPUT_BYTES, Git
from runtime.errors import InputError, RepositoryError

_REGULAR = frozenset({"100644", "100755"})
_PATHS_AT_ONCE = 200
_DIFFERENCE = ("--relative", "--find-renames", "--no-abbrev")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class BaseFile(msgspec.Struct, frozen=True):
    """Names a file as it was in a commit; `path` is the one that it had there, `blob` the hash of its content."""

    path: str
    blob: str


class BaseFiles(msgspec.Struct, frozen=True):
    """Holds the files that differ from a commit and those that do not, by their present paths.

    A file that is in neither came since, or was no regular file then.
    """

    changed: Mapping[str, BaseFile]
    unchanged: frozenset[str]


def branch_start(git: Git, revision: str) -> str:
    """Return the newest commit that HEAD and a branch, tag or commit have in common. Raises InputError without one."""
    try:
        told = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except RepositoryError as error:
        if "status" not in error.values:
            raise
        raise InputError(f"{revision!r} names no commit of the repository", revision=revision) from error
    commits = git.run("rev-parse", f"{told.strip()}...HEAD").split()
    common = [each[1:] for each in commits if each.startswith("^")]
    if not common:
        raise InputError(
            f"{revision!r} and HEAD have no commit in common; a shallow clone may lack it, fetch the whole history",
            revision=revision,
        )
    return common[0]


def base_files(git: Git, commit: str, paths: Sequence[str]) -> BaseFiles:
    """Return what files of the work tree were in a commit; their paths are relative to the folder that git runs in.

    Raises RepositoryError where more files differ than git's answer may name.
    """
    differing = dict(_differing(git, commit))
    changed = {path: file for path in paths if (file := differing.get(path)) is not None}
    same = [path for path in paths if path not in differing]
    return BaseFiles(changed, frozenset(_listed(git, commit, same)))


def content_of(git: Git, file: BaseFile, max_bytes: int) -> bytes | None:
    """Return the content that a file had; None for one of more bytes. Raises RepositoryError if it cannot be read."""
    content = git.run_bytes("show", file.blob)
    return content if len(content) <= min(max_bytes, MAX_OUTPUT_BYTES - 1) else None


def changed_lines(git: Git, commit: str, path: str, file: BaseFile) -> list[range] | None:
    """Return the lines of a file, from 1, that differ from a commit, and those beside lines that went.

    None if more differs than git's answer may hold.
    """
    paths = dict.fromkeys((file.path, path))
    told = git.run_bytes("diff", *_DIFFERENCE, "--text", "--unified=0", commit, "--", *paths)
    if len(told) >= MAX_OUTPUT_BYTES:
        return None
    return [_lines(int(first), int(count or 1)) for first, count in _HUNK.findall(told.decode("utf-8", "replace"))]


def _lines(first: int, count: int) -> range:
    return range(first, first + count) if count else range(first, first + 2)


def _differing(git: Git, commit: str) -> Iterator[tuple[str, BaseFile | None]]:
    """Yield each file that differs from a commit, with what it was there; None for one that was no regular file."""
    told = git.run_bytes("diff", "--raw", "-z", *_DIFFERENCE, commit)
    if len(told) >= MAX_OUTPUT_BYTES:
        raise RepositoryError(f"more files differ from {commit[:12]} than can be compared; name one closer to HEAD")
    fields = iter(told.split(b"\0"))
    for head in fields:
        if not head:
            break
        mode, _, blob, _, status = head.decode("ascii").removeprefix(":").split(" ")
        before = os.fsdecode(next(fields))
        path = os.fsdecode(next(fields)) if status[0] in "RC" else before
        yield path, BaseFile(before, blob) if mode in _REGULAR else None


def _listed(git: Git, commit: str, paths: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(paths), _PATHS_AT_ONCE):
        yield from _regular(git.run_bytes("ls-tree", "-z", commit, "--", *paths[start : start + _PATHS_AT_ONCE]))


def _regular(listing: bytes) -> Iterable[str]:
    for entry in filter(None, listing.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        if head.split(b" ")[0].decode("ascii") in _REGULAR:
            yield os.fsdecode(path)
