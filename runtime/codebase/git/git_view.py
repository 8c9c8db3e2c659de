"""Builds a substitute git directory: the repository's objects, references and index, our own settings.

git reads configuration, hooks and anything else that may name a program only from its GIT_DIR. So it gets this one,
which holds nothing but links to data, copies of small files and a configuration that is written here. The index is a
copy, because git may write it back while it compares.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from runtime.codebase.files.disk_room import NO_ROOM, is_out_of_room
from runtime.codebase.files.regular_file import TooLargeError, copy_resolved
from runtime.codebase.git.git_folder import GitFolder
from runtime.codebase.git.git_settings import carried_settings, refused
from runtime.processes.programs import program_folders

_SHARED = (
    *("refs", "packed-refs", "reftable", "logs", "shallow"),
    *("info/exclude", "info/attributes", "info/grafts"),
)
_PRIVATE = ("refs", "reftable", "logs", "info/sparse-checkout")
_COPIED = ("HEAD", "index", "MERGE_HEAD", "ORIG_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_SPLIT_INDEX = "sharedindex.*"

MAX_COPIED_BYTES = 1 << 30
"""The index of a million files has some 100 MB."""
MAX_LINKED_BYTES = 1 << 28
"""The packed references of a million branches have some 70 MB; git reads a file of references whole."""

_OUR_SETTINGS = """\
[core]
	bare = false
	quotePath = false
	fsmonitor = false
	untrackedCache = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	pager = cat
	logAllRefUpdates = false
[color]
	ui = false
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
"""
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
# A commit is what its hash says: replacements and grafts, which anybody may plant, would show another one in its place.
AS_HASHED = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
"""What is added to the environment where that has to hold."""
_PASSED_ON = ("LD_LIBRARY_PATH",)


def build_view(folder: GitFolder, place: Path) -> dict[str, str]:
    """Build the git directory at `place`, which must be empty, and return the environment in which git uses it.

    RepositoryError if part of the repository leads out of it or cannot be read.
    """
    try:
        return _built(folder, place)
    except OSError as error:
        if is_out_of_room(error):
            raise refused(NO_ROOM.format(place=place)) from error
        raise refused(f"{error.filename or folder.common} cannot be read or linked to: {error.strerror}") from error


def _built(folder: GitFolder, place: Path) -> dict[str, str]:
    common = place / "common"
    private = common
    common.mkdir()
    (common / "info").mkdir()
    settings = _OUR_SETTINGS + carried_settings(folder.settings)
    (common / "config").write_text(settings, encoding="utf-8", errors="surrogateescape")
    folder.check_objects()
    (common / "objects").symlink_to(folder.common / "objects")
    _link(folder, folder.common, common, _SHARED)
    if folder.private != folder.common:
        private = place / "private"
        (private / "info").mkdir(parents=True)
        (private / "commondir").write_text("../common\n")
        _link(folder, folder.private, private, _PRIVATE)
    else:
        _link(folder, folder.private, private, ["info/sparse-checkout"])
    _link(folder, folder.private, private, [each.name for each in folder.private.glob(_SPLIT_INDEX)])
    for name in _COPIED:
        _copy(folder, folder.private / name, private / name)
    home = place / "home"
    home.mkdir()
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        **_ENVIRONMENT,
        "PATH": program_folders(),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_DIR": str(private),
        "GIT_WORK_TREE": str(folder.top),
    }


def _link(folder: GitFolder, source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        if (source / name).exists():
            folder.check(source / name, MAX_LINKED_BYTES)
            (target / name).symlink_to(source / name)


def _copy(folder: GitFolder, source: Path, target: Path) -> None:
    """Copy a file with its modification time, which git compares to find files that may have changed since."""
    if source.exists():
        folder.check(source)
        if source.is_file():
            try:
                copy_resolved(source, target, MAX_COPIED_BYTES)
            except TooLargeError as error:
                raise refused(f"{source} is not copied: {error.strerror}") from error
