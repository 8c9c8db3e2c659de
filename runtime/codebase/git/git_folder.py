"""Locates the git data of a repository and verifies that it belongs to the requested work tree.

A `.git` may be a file or a link to anywhere, and its contents may point further: an untrusted repository could name
the history of another one on this machine. So its data must lie below the work tree; a folder outside of it is
accepted only if it names this work tree itself, as git writes it for linked work trees and submodules. Links that
lead out of either, and objects borrowed from outside, are refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from runtime.codebase.files.regular_file import NotRegularError, read_start
from runtime.codebase.files.walk import is_git_directory
from runtime.codebase.git.git_settings import Settings, parse_settings, refused
from runtime.errors import RepositoryError

MAX_SETTINGS_BYTES = 1_000_000
MAX_FILES = 1_000_000
_MAX_POINTER_BYTES = 8192


@dataclass(frozen=True, slots=True)
class GitFolder:
    """Locates the git data of the work tree at `top`: its own in `private`, shared data in `common`.

    The two differ only for linked work trees. All three paths are resolved.
    """

    top: Path
    private: Path
    common: Path
    settings: Settings

    def holds(self, path: str | Path) -> bool:
        """Return True if a path, links resolved, lies in the work tree or in its git data."""
        real = _resolved(path)
        return real is not None and any(real.is_relative_to(each) for each in (self.top, self.private, self.common))

    def check(self, path: Path, max_file_bytes: int | None = None) -> None:
        """Check a path and all below it.

        RepositoryError if a link leaves the repository, or a file is not regular or larger than `max_file_bytes`.
        """
        pending, seen, count = [self._held(path)], set[str](), 0
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            if not Path(each).is_dir():
                _check_plain(each)
                _check_size(each, max_file_bytes)
                continue
            with os.scandir(each) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_symlink():
                        pending.append(self._held(entry.path))
                    elif entry.is_dir():
                        pending.append(entry.path)
                    elif not entry.is_file():
                        _check_plain(entry.path)
                    else:
                        _check_size(entry.path, max_file_bytes)
            if count > MAX_FILES:
                raise refused(f"{path} has more than {MAX_FILES} files; 'git gc' makes them fewer")

    def check_objects(self) -> None:
        """Check the object store and its alternates recursively; RepositoryError if any lies outside the repository."""
        pending, seen = [self.common / "objects"], set[Path]()
        while pending:
            objects = pending.pop()
            if objects in seen:
                continue
            seen.add(objects)
            self.check(objects)
            for borrowed in _borrowed(objects):
                if not self.holds(borrowed):
                    raise refused(
                        f"{objects}/info/alternates takes objects from {borrowed}, which is outside of the repository; "
                        f"'git repack -a -d' copies them, and then that file can be removed"
                    )
                if borrowed.is_dir():
                    pending.append(borrowed)

    def _held(self, path: str | Path) -> str:
        real = _resolved(path)
        if real is None or not self.holds(real):
            raise refused(f"{path} leads to {real or 'nowhere'}, which is outside of the repository")
        return str(real)


def find_git_folder(root: Path) -> GitFolder | None:
    """Return the git data of the repository at or above a folder, on the same file system; None if there is none.

    `root` must be resolved. RepositoryError if that data lies outside of the work tree without naming it, or is
    configured for another work tree.
    """
    try:
        device = root.stat().st_dev
        for top in (root, *root.parents):
            if top.stat().st_dev != device:
                return None
            marker = top / ".git"
            if marker.is_file():
                return _opened(top, _target(marker))
            if is_git_directory(marker):
                return _opened(top, marker)
    except OSError as error:
        raise refused(f"the .git of {root} cannot be read: {error.strerror}") from error
    return None


def main_tree_of(folder: Path) -> Path | None:
    """Return the work tree of the repository whose linked work tree a folder is; None for any other folder.

    Only a folder that the repository itself names is one: what a folder says of itself decides nothing.
    """
    try:
        found = find_git_folder(folder.resolve())
    except RepositoryError:
        return None  # its git data cannot be used: it belongs to no other folder
    if found is None or found.top != folder.resolve() or found.private == found.common or found.common.name != ".git":
        return None
    return found.common.parent


def read_bounded(path: Path, limit: int) -> str | None:
    """Return the first `limit` bytes of a regular file as text, undecodable bytes escaped; None without such a file."""
    data = read_bounded_bytes(path, limit)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def read_bounded_bytes(path: Path, limit: int) -> bytes | None:
    """Return the first `limit` bytes of a regular file; None without such a file."""
    try:
        return read_start(path, limit)
    except (FileNotFoundError, NotADirectoryError, NotRegularError, ValueError):
        return None


def _target(marker: Path) -> Path:
    """Return the folder that a `.git` file names."""
    pointer = _pointer(marker) or ""
    if not pointer.startswith("gitdir: "):
        raise refused(f"{marker} is a file that names no folder of git; it should begin with 'gitdir: '")
    return marker.parent / pointer.removeprefix("gitdir: ")


def _opened(top: Path, named: Path) -> GitFolder:
    private = _resolved(named)
    shared = _pointer(private / "commondir") if private else None
    common = private if private is None or shared is None else _resolved(private / shared)
    if private is None or common is None or not is_git_directory(common):
        raise refused(f"the .git of {top} leads to {named}, which holds no data of git")
    settings = _settings(private, common)
    if private.is_relative_to(top):
        if not common.is_relative_to(top):
            raise refused(f"{private} shares the data of {common}, which is outside of {top}")
    elif not _names(private, common, top, settings):
        mend = f"git config core.worktree {top}" if private == common else "git worktree repair"
        raise refused(
            f"the .git of {top} leads to {private}, which is outside of it and does not name it as its work tree; "
            f"if it is its data, '{mend}' says so"
        )
    if private == common:
        _check_own_work_tree(top, private, settings)
    return GitFolder(top, private, common, settings)


def _names(private: Path, common: Path, top: Path, settings: Settings) -> bool:
    """Return True if git data outside of a work tree names that work tree as its own."""
    if private == common:
        work_tree = settings.last("core", "worktree")
        return work_tree is not None and _resolved(private / work_tree) == top
    back = _pointer(private / "gitdir")
    if back is None or private.parent != common / "worktrees":
        return False
    marker = private / back
    return marker.name == ".git" and _resolved(marker.parent) == top


def _check_own_work_tree(top: Path, private: Path, settings: Settings) -> None:
    if settings.switch("core", "bare"):
        raise refused(f"the repository at {top} is bare: it says that it has no work tree")
    work_tree = settings.last("core", "worktree")
    if work_tree is not None and _resolved(private / work_tree) != top:
        raise refused(f"its configuration takes {work_tree} for the work tree, not {top}")


def _settings(private: Path, common: Path) -> Settings:
    texts = [_settings_text(common / "config")]
    settings = parse_settings(*texts)
    if settings.switch("extensions", "worktreeconfig"):
        settings = parse_settings(*texts, _settings_text(private / "config.worktree"))
    return settings


def _settings_text(path: Path) -> str:
    if path.is_file() and path.stat().st_size > MAX_SETTINGS_BYTES:
        raise refused(f"{path} has more than {MAX_SETTINGS_BYTES} bytes")
    return read_bounded(path, MAX_SETTINGS_BYTES) or ""


def _borrowed(objects: Path) -> list[Path]:
    """Return the object folders of other repositories that git would read as alternates."""
    path = objects / "info" / "alternates"
    text = _settings_text(path)
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    if "\0" in text or any(line.startswith('"') for line in lines):
        raise refused(f"a path in {path} is quoted, or is none")
    return [objects / line for line in lines]


def _pointer(path: Path) -> str | None:
    """Return the path that a pointer file of git (such as `commondir`) consists of; None if there is no such file."""
    text = read_bounded(path, _MAX_POINTER_BYTES)
    return None if text is None else text.rstrip("\r\n")


def _check_plain(path: str) -> None:
    if Path(path).exists() and not Path(path).is_file():
        raise refused(f"{path} is no plain file")


def _check_size(path: str, limit: int | None) -> None:
    if limit is None:
        return
    try:
        size = Path(path).stat().st_size
    except FileNotFoundError:
        return  # git has removed it since, or a link leads nowhere
    if size > limit:
        raise refused(f"{path} has {size} bytes, at most {limit} are read")


def _resolved(path: str | Path) -> Path | None:
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return None
