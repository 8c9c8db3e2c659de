"""Copies generated modules and compiled extensions from the operator's folder to a work tree.

They are ignored by git, so they are no part of a commit, and tests do not run without them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from runtime.codebase.files.regular_file import copy_resolved
from runtime.codebase.files.walk import is_secret
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import uncommitted

ENDINGS = (".py", ".so", ".pyd", ".pyi")
MAX_FILES = 2_000
MAX_FILE_BYTES = 200_000_000


def carry_ignored(tree: Path) -> list[str]:
    """Copy ignored modules of the repository to one of its linked work trees; return those that were not there.

    Only regular files are copied, to folders that the work tree has, and none that git would not ignore there.
    """
    root = _repository_of(tree)
    if root is None:
        return []
    with GitWriter(root) as git:
        listed = git.run("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    wanted = [file for file in listed.split("\0") if file.endswith(ENDINGS) and _is_wanted(root, tree, file)]
    carried = []
    for file in wanted[:MAX_FILES]:
        # It may be gone, or larger than is copied; tests that need it fail, and say so.
        with suppress(OSError):
            copy_resolved(root / file, tree / file, MAX_FILE_BYTES)
            carried.append(file)
    if not carried:
        return []
    with GitWriter(tree) as git:
        shown = set(uncommitted(git))
    for file in shown.intersection(carried):
        (tree / file).unlink(missing_ok=True)
    return [file for file in carried if file not in shown]


def _repository_of(tree: Path) -> Path | None:
    """Return the operator's folder of the repository that a work tree is linked to."""
    found = find_git_folder(tree)
    if found is None or found.private == found.common or found.common.name != ".git":
        return None
    return found.common.parent


def _is_wanted(root: Path, tree: Path, file: str) -> bool:
    source, target = root / file, tree / file
    if is_secret(file) or source.is_symlink() or target.is_symlink() or target.exists():
        return False
    # A folder that is not in the work tree is an environment or a build; a link may lead anywhere.
    return (
        target.parent.is_dir() and target.parent.resolve() == target.parent and source.parent.resolve() == source.parent
    )
