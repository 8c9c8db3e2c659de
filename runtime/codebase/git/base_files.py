"""Reads files as they were in the commits that a branch is compared with; none is checked out.

Who is judged by the comparison may write to the repository. So neither the index, whose marks and times make git take a
changed file for an unchanged one, nor replacements and grafts decide: contents are compared.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.git.commit_history import names_of_blob
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_process import MAX_OUTPUT_BYTES, Git
from runtime.errors import InputError, RepositoryError

_REGULAR = frozenset({"100644", "100755"})
_SUBMODULE = "160000"
_PATHS_AT_ONCE = 200
_MOST_FIRST = 100
_RENAMES = ("--raw", "-z", "--relative", "--find-renames", "--diff-filter=R", "--no-abbrev")
_HASH = re.compile(r"[0-9a-f]{40,64}")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class BaseFile(msgspec.Struct, frozen=True):
    """Names the content that a file had in a commit; `place`: where it is now, from the top of its repository `git`."""

    git: Git
    place: str
    blob: str


class BaseFiles(msgspec.Struct, frozen=True):
    """Holds the files that a commit has, by their present paths, and why others cannot be compared with it.

    A file that is in neither came since, or was no regular file then.
    """

    files: Mapping[str, BaseFile]
    problems: Mapping[str, str]


def base_commits(git: Git, revision: str) -> tuple[str, ...]:
    """Return the newest commits that HEAD and a branch, tag or commit have in common, then that one's own.

    Raises InputError for a revision that names none, and where there is nothing in common or that cannot be known.
    """
    nothing = f"{revision!r} names no commit of the repository"
    try:
        told = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except RepositoryError as error:
        if "status" not in error.values:
            raise
        raise InputError(nothing, revision=revision) from error
    # Of `^main`, git prints what it leaves out.
    if not _HASH.fullmatch(told):
        raise InputError(nothing, revision=revision)
    commits = git.run("rev-parse", f"{told}...HEAD").split()
    common = [each[1:] for each in commits if each.startswith("^")]
    if not common:
        raise InputError(
            f"{revision!r} and HEAD have no commit in common; a shallow clone may lack it, fetch the whole history",
            revision=revision,
        )
    if (cut := _cut_off(git, told)) is not None:
        raise InputError(
            f"the history between {revision!r} and HEAD ends at {cut[:12]}, as in a shallow clone, so that it is not "
            "known what they have in common; fetch the whole history",
            revision=revision,
        )
    return tuple(dict.fromkeys((*common, told)))


def _cut_off(git: Git, commit: str) -> str | None:
    """Return a commit on one side alone of HEAD and another whose parents are left out; None without such.

    Behind it may be a newer commit that both have: whoever may write below `.git` may name one. What ends behind a
    commit that both have changes nothing.
    """
    if git.run("rev-parse", "--is-shallow-repository").strip() != "true":
        return None
    first = git.run("rev-list", "--max-parents=0", f"{commit}...HEAD").split()
    # To look at each takes a process of its own: a history that begins so often is taken for a cut one.
    known = first[:_MOST_FIRST]
    cut = (each for each in known if "\nparent " in git.run("cat-file", "commit", each).partition("\n\n")[0])
    return next(cut, None) or next(iter(first[_MOST_FIRST:]), None)


def base_files(git: Git, commit: str, paths: Sequence[str]) -> BaseFiles:
    """Return what files of the work tree were in a commit; their paths are relative to the folder that git runs in.

    A file of a submodule is compared with the commit of it that was recorded. Raises RepositoryError where more files
    were renamed than git's answer may name.
    """
    above = os.fsdecode(git.run_bytes("rev-parse", "--show-prefix")).removesuffix("\n")
    listed = {path: (mode, name) for path, mode, name in _listed(git, commit, paths)}
    known = {path: name for path, (mode, name) in listed.items() if mode in _REGULAR}
    missing = [path for path in paths if path not in listed]
    if missing:
        known |= _renamed(git, commit, frozenset(missing))
    files = {path: BaseFile(git, f"{above}{path}", blob) for path, blob in known.items()}
    problems: dict[str, str] = {}
    folders = sorted({folder for path in missing if path not in known for folder in _folders(path)})
    for folder, mode, recorded in _listed(git, commit, folders):
        if mode == _SUBMODULE:
            below = [path for path in missing if path.startswith(f"{folder}/")]
            inner = _of_submodule(git, folder, recorded, [path.removeprefix(f"{folder}/") for path in below])
            files |= {f"{folder}/{path}": file for path, file in inner.files.items()}
            problems |= {f"{folder}/{path}": problem for path, problem in inner.problems.items()}
    return BaseFiles(files, problems)


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _of_submodule(git: Git, folder: str, commit: str, paths: Sequence[str]) -> BaseFiles:
    place = git.root / folder
    try:
        found = find_git_folder(place)
        if found is None or found.top != place:
            return BaseFiles({}, dict.fromkeys(paths, f"{folder} was a submodule, and is no repository now"))
        inner = Git(place, as_hashed=True)
        if not _has(inner, commit):
            told = f"the submodule {folder} was at {commit[:12]}, which it does not have; fetch its whole history"
            return BaseFiles({}, dict.fromkeys(paths, told))
        return base_files(inner, commit, paths)
    except RepositoryError as error:
        return BaseFiles({}, dict.fromkeys(paths, error.message))


def _has(git: Git, commit: str) -> bool:
    try:
        git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except RepositoryError as error:
        if "status" not in error.values:
            raise
        return False
    return True


def _listed(git: Git, commit: str, paths: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield path, mode and hash of what a commit has at paths."""
    for start in range(0, len(paths), _PATHS_AT_ONCE):
        listing = git.run_bytes("ls-tree", "-z", commit, "--", *paths[start : start + _PATHS_AT_ONCE])
        for entry in filter(None, listing.split(b"\0")):
            head, _, path = entry.partition(b"\t")
            mode, _, name = head.decode("ascii").split(" ")
            yield os.fsdecode(path), mode, name


def _renamed(git: Git, commit: str, paths: frozenset[str]) -> dict[str, str]:
    """Return the blobs that files had in a commit under other paths; each file that is gone is one other at most."""
    told = git.run_bytes("diff", *_RENAMES, commit)
    if len(told) >= MAX_OUTPUT_BYTES:
        raise RepositoryError(f"more files were renamed since {commit[:12]} than can be told; name one closer to HEAD")
    found = {}
    fields = iter(told.split(b"\0"))
    for head in filter(None, fields):
        mode, _, blob, _, _ = head.decode("ascii").removeprefix(":").split(" ")
        before, path = os.fsdecode(next(fields)), os.fsdecode(next(fields))
        # A file that was taken out of the index alone is still there, and is compared with itself.
        if path in paths and mode in _REGULAR and not os.path.lexists(git.root / before):
            found[path] = blob
    return found


def content_of(file: BaseFile, max_bytes: int) -> bytes | None:
    """Return the content that a file had, with the line ends of a checkout; None for one of more bytes.

    Raises RepositoryError if it cannot be read.
    """
    content = file.git.run_bytes("cat-file", "--filters", f"--path={file.place}", file.blob)
    return content if len(content) <= min(max_bytes, MAX_OUTPUT_BYTES - 1) else None


def has_content(file: BaseFile, content: bytes) -> bool:
    """Return whether a file had exactly that content."""
    return file.blob in names_of_blob(content)


def changed_lines(git: Git, before: bytes, now: bytes) -> list[range] | None:
    """Return the lines of a content, from 1, that differ from an older one, and those beside lines that went.

    None where the lines cannot be numbered: more differs than git's answer may hold, or a carriage return stands alone,
    at which some programs end a line.
    """
    if b"\r" in now.replace(b"\r\n", b""):
        return None
    with tempfile.TemporaryDirectory(prefix="jeeves-lines-") as name:
        places = Path(name, "before"), Path(name, "now")
        for place, content in zip(places, (before, now), strict=True):
            place.write_bytes(content)
        options = ("--no-index", "--text", "--unified=0", "--")
        told = git.run_bytes("diff", *options, *map(str, places), accepted=(0, 1))
    if len(told) >= MAX_OUTPUT_BYTES:
        return None
    return [_lines(int(first), int(count or 1)) for first, count in _HUNK.findall(told.decode("utf-8", "replace"))]


def _lines(first: int, count: int) -> range:
    return range(first, first + count) if count else range(first, first + 2)
