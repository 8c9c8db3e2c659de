"""Chooses the files of a repository that are checked: those that git tracks or does not ignore."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from actors.capabilities.violation_fix.checks.tracked_code import TrackedCode, tracked_code
from actors.capabilities.violation_fix.checks.violation import Unchecked
from runtime.codebase.files.file_entry import FileEntry, SkipReason
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import SourceText, decode, is_binary
from runtime.codebase.files.walk import Walk, WalkOptions, is_secret, walk
from runtime.codebase.language_registry import language_named, language_of
from runtime.errors import InputError
from runtime.primitives.hashing import content_hash

MAX_FILE_BYTES = 2_000_000
MAX_FILES = 100_000
_OPTIONS = WalkOptions(max_file_bytes=MAX_FILE_BYTES, max_files=MAX_FILES)

_WHY: Mapping[str, str] = {
    "too_large": f"it has more than {MAX_FILE_BYTES} bytes",
    "secret": "its name says that it holds secrets",
    "symlink_outside": "it is a link out of the repository",
    "symlink_duplicate": "it is a link to another file",
    "unreadable": "it cannot be read",
    "not_a_file": "it is no regular file",
}
# What a link leads to is checked under its own name, or is no part of the repository.
_LINKS = frozenset({"symlink_outside", "symlink_duplicate"})


class SourceFiles(msgspec.Struct, frozen=True):
    """Holds the files to be checked, by path with their language, those left out, and notes on the listing.

    `is_whole`: whether nothing but links is left out. `others`: files that are not to be checked, and that a command of
    the project may name. `wanted`: the files and folders that were asked for; none: all.
    """

    languages: Mapping[str, str]
    unchecked: tuple[Unchecked, ...]
    notes: tuple[str, ...]
    is_whole: bool
    others: frozenset[str] = frozenset()
    wanted: tuple[str, ...] = ()

    def is_asked(self, path: str) -> bool:
        """Return whether a path is among those that were asked for."""
        return _is_asked(path, self.wanted)


def source_files(root: Path, paths: Sequence[str] = ()) -> SourceFiles:
    """Return the files with code below `root`, or those among `paths` and below them.

    A file that is named, or that git tracks, is taken also where an ignore file names it. Raises InputError for a path
    that does not exist, leads out of the repository or holds no code, and RepositoryError where the root cannot be
    listed.
    """
    wanted = [_inside(root, path) for path in paths]
    named = [_named(root, path) for path in wanted if not (root / path).is_dir() or (root / path).is_symlink()]
    folders = [path for path in wanted if (root / path).is_dir() and not (root / path).is_symlink()]
    listed, tracked = Walk(()), TrackedCode()
    if folders or not paths:
        listed = walk(root, _OPTIONS)
        known = {*(each.path for each in listed.entries), *(each.path for each in named)}
        tracked = tracked_code(root, known, _is_named_code, lambda path: _is_asked(path, folders))
    entries = [
        *(each for each in listed.entries if _is_code(each)),
        *named,
        *(_named(root, path) for path in tracked.added),
    ]
    for path in wanted:
        if not any(_is_below(each.path, path) and _is_code(each) for each in entries):
            raise InputError(f"{path or '.'} holds no file with code", path=path)
    chosen = {each.path: each for each in entries if _is_asked(each.path, wanted)}
    return SourceFiles(
        languages={
            path: each.language for path, each in sorted(chosen.items()) if each.skip_reason is None and each.language
        },
        unchecked=tuple(
            Unchecked(path, _WHY[each.skip_reason])
            for path, each in sorted(chosen.items())
            if each.skip_reason is not None and each.skip_reason in _WHY
        ),
        notes=(*listed.notes, *tracked.notes),
        is_whole=not listed.notes
        and not tracked.notes
        and not any(each.skip_reason in _WHY.keys() - _LINKS for each in chosen.values()),
        others=frozenset(
            each.path
            for each in (*listed.entries, *entries)
            if each.skip_reason == "too_large" or (each.skip_reason is None and not _is_code(each))
            if _is_asked(each.path, wanted)
        ),
        wanted=tuple(wanted),
    )


def _named(root: Path, path: str) -> FileEntry:
    status = (root / path).lstat()
    why: SkipReason | None = None
    if stat.S_ISLNK(status.st_mode):
        inside = Path(os.path.realpath(root / path)).is_relative_to(root)
        # As the walk has it: a link to nothing, or in a circle, cannot be read.
        why = "symlink_outside" if not inside else "symlink_duplicate" if (root / path).exists() else "unreadable"
    elif not stat.S_ISREG(status.st_mode):
        why = "not_a_file"
    elif is_secret(path):
        why = "secret"
    elif status.st_size > MAX_FILE_BYTES:
        why = "too_large"
    return FileEntry(path, status.st_size, status.st_mtime_ns, language_of(path), why)


def read_source(root: Path, path: str) -> tuple[SourceText | None, str]:
    """Return the text of a file, or None and why it is not checked."""
    try:
        data = read_below(root, path, MAX_FILE_BYTES)
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    if is_binary(data):
        return None, "it is binary"
    text, note = decode(data)
    return (None, note) if note else (SourceText(text, content_hash(data)), "")


def _is_code(entry: FileEntry) -> bool:
    # A link has no language of its own: its name says what it would be.
    return _is_named_code(entry.path, entry.language)


def _is_named_code(path: str, language: str | None = None) -> bool:
    language = language or language_of(path)
    return language is not None and language_named(language).role == "code"


def _is_below(path: str, folder: str) -> bool:
    return folder in ("", path) or path.startswith(f"{folder}/")


def _is_asked(path: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(_is_below(path, each) for each in wanted)


def _inside(root: Path, path: str) -> str:
    """Return a path as given on a command line, relative to the root or the current folder, as one below the root."""
    if "\0" in path:
        raise InputError("a path holds the character U+0000, which none can")
    for start in (Path(), root):
        place = start.resolve() / path
        try:
            if place.exists() or place.is_symlink():
                found = place.parent.resolve() / place.name if place.name not in ("", "..") else place.resolve()
                if found.is_relative_to(root):
                    below = found.relative_to(root).as_posix()
                    return "" if below == "." else below
        except (OSError, RuntimeError) as error:
            raise InputError(f"{path} cannot be looked at: {error}", path=path) from error
    raise InputError(f"no file or folder {path} is in {root}; name one below it", path=path)
