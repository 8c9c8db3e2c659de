"""Knows the marks by which an index hides edits from git: «assume unchanged» and «skip the work tree».

A writer works on a copy of the index: clearing marks there leaves the repository's own as they are.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence

from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter

# What clears a mark, and the letters by which `ls-files -v` tells it.
_CLEARED_BY = {"--no-skip-worktree": "Ss", "--no-assume-unchanged": "hs"}
MAX_NAMED = 20


def show_hidden(git: GitWriter, files: Collection[str] | None = None) -> None:
    """Clear the marks of some files, or of all, in the writer's index; those outside a sparse checkout stay."""
    for option, marked in _marked(git).items():
        hidden = [file for file in marked if files is None or file in files]
        for start in range(0, len(hidden), MAX_ARGUMENTS):
            git.run("update-index", option, "--", *hidden[start : start + MAX_ARGUMENTS])


def hidden_edits(git: GitWriter) -> dict[str, list[str]]:
    """Return the files that differ from the index, which hides it, each with what clears its marks."""
    marked = _marked(git)
    if not any(marked.values()):
        return {}
    show_hidden(git)
    git.distrust_index()
    told = git.run("status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
    differing = {entry[3:] for entry in told.split("\0") if len(entry) > 3 and entry[1] != " "}
    found: dict[str, list[str]] = {}
    for option, files in marked.items():
        for file in files:
            if file in differing:
                found.setdefault(file, []).append(option)
    return found


def clearing(git: GitWriter, hidden: Mapping[str, Sequence[str]]) -> str:
    """Return the commands that clear the marks of files, twenty of each kind."""
    commands = []
    for option in _CLEARED_BY:
        named = [shlex.quote(file) for file, options in hidden.items() if option in options][:MAX_NAMED]
        if named:
            place = shlex.quote(str(git.folder.top))
            commands.append(f"`git -C {place} update-index {option} -- {' '.join(named)}`")
    return " and ".join(commands)


def _marked(git: GitWriter) -> dict[str, list[str]]:
    """Return the marked files by what clears the mark."""
    entries = [entry for entry in git.run("ls-files", "-v", "-z").split("\0") if entry]
    is_sparse = bool(git.folder.settings.switch("core", "sparsecheckout"))
    return {
        option: [
            entry[2:]
            for entry in entries
            if entry[0] in letters and (not is_sparse or entry[0] == "h" or os.path.lexists(git.folder.top / entry[2:]))
        ]
        for option, letters in _CLEARED_BY.items()
    }
