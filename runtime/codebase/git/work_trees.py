"""Opens the place where a change is made: a branch in the repository's own folder, or beside it.

The user's uncommitted work is never touched: where there is some, the branch gets a work tree of its own.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.files.tool_caches import is_tool_cache
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_locks import locked, publish
from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter
from runtime.codebase.git.index_marks import hidden_edits, show_hidden
from runtime.codebase.git.linked_trees import BRANCH_PREFIX, check_out, make_linked, refuse_foreign
from runtime.codebase.git.writable import Writable
from runtime.errors import GitWriteError

MAX_DIGESTED_FILES = 10_000

IsOurs = Callable[[str], bool]

# Marks of files that no commit has.
_NEW = frozenset({"??", "A ", "AM"})
_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")


class WorkTree(msgspec.Struct, frozen=True, omit_defaults=True):
    """Says where a change is made: `folder`, on `branch`, from `base_commit` of `base_branch`."""

    folder: str
    branch: str
    base_branch: str
    base_commit: str
    is_linked: bool = False


class Change(msgspec.Struct, frozen=True, order=True):
    """Names a file that differs from a commit, and how: added, modified, deleted or type changed."""

    file: str
    how: str


def open_work_tree(place: Writable, name: str, linked_at: Path, is_ours: IsOurs, base_branch: str = "") -> WorkTree:
    """Return the work tree for a change, made now, or the one that was made under that name before.

    `is_ours` tells files that never make a folder dirty; `linked_at`: where a work tree beside a dirty folder is made;
    `base_branch`: the one that the change is for, where the folder may have been switched to the change already.
    """
    top, branch = Path(place.top), f"{BRANCH_PREFIX}{name}"
    with GitWriter(top) as git:
        known, base = git.commit_of(f"refs/heads/{branch}"), git.commit_of("HEAD")
        if base is None:
            raise GitWriteError(f"branch {place.branch} of {top} has no commit yet; make a first one")
        is_dirty = bool(_own_work(git, is_ours)) or not all(map(is_ours, hidden_edits(git)))
        if is_dirty or os.path.lexists(linked_at):
            refuse_foreign(top, branch, linked_at)
        if known is None:
            git.set_branch(branch, base, None)
        elif not _is_of_base(git, known, base_branch if place.branch == branch else place.branch):
            raise GitWriteError(f"branch {branch} exists already with commits of its own; delete or rename it")
    if place.branch == branch:
        return WorkTree(str(top), branch, base_branch, known or base)
    if (linked_at / ".git").is_file():
        return _linked_again(linked_at.resolve(), branch, place.branch, known or base)
    if known is not None and known != base:
        raise GitWriteError(
            f"branch {branch} exists already at another commit than {place.branch}; delete or rename it"
        )
    if not is_dirty:
        _switch(top, branch)
        return WorkTree(str(top), branch, place.branch, base)
    folder = make_linked(top, branch, linked_at)
    return WorkTree(str(folder), branch, place.branch, base, is_linked=True)


def printable(file: str) -> str:
    """Return the name of a file with bytes that are not UTF-8 written as escapes, as it can be stored and told."""
    try:
        return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return file.encode("utf-8", "backslashreplace").decode()


def _is_of_base(git: GitWriter, commit: str, base_branch: str) -> bool:
    """Return whether a commit is one of a branch: a task branch that was just made has none of its own."""
    base = git.commit_of(f"refs/heads/{base_branch}")
    return base is not None and git.status_of("merge-base", "--is-ancestor", commit, base)[1] == 0


def uncommitted(git: GitWriter) -> list[str]:
    """Return the files that differ from HEAD or are new, ignored ones left out."""
    return [file for _, file in _entries(git)]


def left_by_tools(git: GitWriter) -> list[str]:
    """Return the files in no commit that interpreters and tools keep for themselves: they belong to no change."""
    top = git.folder.top
    return [file for mark, file in _entries(git) if mark in _NEW and is_tool_cache(top, file)]


def _own_work(git: GitWriter, is_ours: IsOurs) -> list[str]:
    """Return the files that somebody has changed, or made, and not committed."""
    top = git.folder.top
    found = ((mark, file) for mark, file in _entries(git) if not is_ours(file))
    return [file for mark, file in found if not (mark in _NEW and is_tool_cache(top, file))]


def _entries(git: GitWriter) -> list[tuple[str, str]]:
    listed = git.run(*_STATUS)
    return [(entry[:2], entry[3:]) for entry in listed.split("\0") if len(entry) > 3]


def changes_since(git: GitWriter, commit: str, is_ours: IsOurs) -> list[Change]:
    """Return the files that differ from a commit, new ones included, in order; of a rename both.

    New files that interpreters and tools keep for themselves are none of them.
    """
    show_hidden(git)
    git.distrust_index()
    found = _different(git, commit)
    if unlisted := [file for file, change in found.items() if change.how == "deleted" and _is_file(git, file)]:
        _list_again(git, commit, unlisted)
        found = _different(git, commit)
    _refuse_odd(git, found)
    there = [file for file in uncommitted(git) if file not in found and _is_there(git, file)]
    committed = files_in(git, commit, there)
    found.update({file: Change(file, "added") for file in there if file not in committed})
    top = git.folder.top
    kept = (change for change in found.values() if not is_ours(change.file))
    return sorted(change for change in kept if not (change.how == "added" and is_tool_cache(top, change.file)))


def _different(git: GitWriter, commit: str) -> dict[str, Change]:
    """Return what differs from a commit among the files of that commit and of the index, by name."""
    raw = git.run("diff-index", "-z", "--no-renames", "--ignore-submodules=all", "--name-status", commit)
    words = [word for word in raw.split("\0") if word]
    return {
        file: Change(file, _HOW.get(how[:1], "modified")) for how, file in zip(words[::2], words[1::2], strict=True)
    }


def _is_file(git: GitWriter, file: str) -> bool:
    place = git.folder.top / file
    return place.is_symlink() or place.is_file()


def _list_again(git: GitWriter, commit: str, files: Sequence[str]) -> None:
    """Put files of a commit back into the index: one that was taken out of that alone is still in the work tree."""
    for start in range(0, len(files), MAX_ARGUMENTS):
        told = git.run("ls-tree", "-z", commit, "--", *files[start : start + MAX_ARGUMENTS])
        rows = (row.partition("\t") for row in told.split("\0") if row)
        entries = [(about.split(" "), file) for about, _, file in rows]
        options = [word for about, file in entries for word in ("--cacheinfo", f"{about[0]},{about[2]},{file}")]
        if options:
            git.run("update-index", "--add", "--replace", *options)
    git.run("update-index", "-q", "--refresh", accepted=(0, 1))


def files_in(git: GitWriter, commit: str, names: Collection[str]) -> frozenset[str]:
    """Return which of some names are files of a commit."""
    asked = sorted(name for name in names if name and not name.endswith("/"))
    found: set[str] = set()
    for start in range(0, len(asked), MAX_ARGUMENTS):
        told = git.run("ls-tree", "-z", commit, "--", *asked[start : start + MAX_ARGUMENTS])
        rows = (row.partition("\t") for row in told.split("\0") if row)
        found.update(name for about, _, name in rows if about.split(" ")[1] == "blob")
    return frozenset(found.intersection(asked))


def _refuse_odd(git: GitWriter, files: Collection[str]) -> None:
    """Raise GitWriteError where a pipe, a socket or a device is in the place of a file: git cannot compare these."""
    for file in files:
        try:
            kind = stat.S_IFMT(os.lstat(git.folder.top / file).st_mode)
        except OSError:  # gone: git compares that
            continue
        if kind in _ODD:
            told = f"{printable(file)} in {git.folder.top} is {_ODD[kind]}, which git cannot compare"
            raise GitWriteError(f"{told}; take it away or put a file in its place")


_ODD = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_HOW = {"A": "added", "D": "deleted", "T": "type changed", "M": "modified"}


def _is_there(git: GitWriter, file: str) -> bool:
    place = git.folder.top / file
    # A folder is named only where it is a repository of its own.
    return place.is_file() or place.is_symlink() or file.endswith("/")


def digest_of(git: GitWriter, is_ours: IsOurs) -> str:
    """Return a digest of HEAD and of all uncommitted files, which differs after any edit."""
    digest = hashlib.sha256((git.commit_of("HEAD") or "").encode())
    for file in _own_work(git, is_ours)[:MAX_DIGESTED_FILES]:
        digest.update(file.encode("utf-8", "surrogateescape"))
        try:
            now = (git.folder.top / file).lstat()
            digest.update(f"\0{now.st_mtime_ns}\0{now.st_size}\0".encode())
        except FileNotFoundError:
            digest.update(b"\0gone\0")
    return digest.hexdigest()


def _switch(top: Path, branch: str) -> None:
    """Switch a folder to a branch of the same commit, which changes no file."""
    folder = find_git_folder(top)
    assert folder is not None
    with locked(folder, "HEAD") as locks:
        publish(locks["HEAD"], f"ref: refs/heads/{branch}\n".encode())


def _linked_again(folder: Path, branch: str, base_branch: str, base: str) -> WorkTree:
    found = find_git_folder(folder)
    if found is not None and not (found.private / "index").exists():
        # The process that made the work tree died before it had written the files.
        check_out(folder)
    return WorkTree(str(folder), branch, base_branch, base, is_linked=True)
