"""Knows the files that stood when a session began, so that none escapes an impact analysis.

Effects block: they run in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from actors.capabilities.code_change.evidence.changed_lines import digests_of
from actors.capabilities.code_change.evidence.write_guard import is_ours
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.work_trees import Change, changes_since, printable
from runtime.codebase.language_registry import language_at
from runtime.contracts.session_state import SessionState
from runtime.errors import RepositoryError

# Files that were not committed at the start and are known by digest: those that a session carries along, and further
# ones that are kept once; more are not told apart.
MAX_PINNED = 500
MAX_FURTHER = 20_000
# Of each further file: all of them together may be as many bytes as a disk has.
MAX_FURTHER_BYTES = 1 << 16
# Files whose text at the start is looked at, and those that an analysis gets from here.
MAX_COMPARED = 200
MAX_ADDED = 40
NAMED_AT_START = "named {name} when the session began, and is {how} since"
UNCOMMITTED_AT_START = "was not committed when the session began, and is {how} since"


def uncommitted_at_start(root: Path, base_commit: str) -> dict[str, str]:
    """Return what is not committed, file → digest; a repository that is not in order has nothing to be known by.

    The first 500 by name come first, the others are known by less of their content.
    """
    if not base_commit:
        return {}
    try:
        with GitWriter(root) as git:
            changed = changes_since(git, base_commit, is_ours)
    except RepositoryError:
        return {}
    files = [each.file for each in changed if printable(each.file) == each.file]
    further = files[MAX_PINNED : MAX_PINNED + MAX_FURTHER]
    return digests_of(root, files[:MAX_PINNED]) | digests_of(root, further, MAX_FURTHER_BYTES)


def taken_from_sight(state: SessionState, targets: Sequence[str], further: Mapping[str, str] = {}) -> dict[str, str]:
    """Return the files that an impact analysis no longer sees as they were when the session began, each with why.

    Of committed ones those that named a target then: its own name, or the module's of a file. `further`: what was not
    committed beside what the session carries along. Raises RepositoryError.
    """
    place = state.place
    if place is None or not place.base_commit:
        return {}
    root = Path(state.repository)
    pinned = {**further, **state.uncommitted}
    now = digests_of(root, state.uncommitted) | digests_of(root, further, MAX_FURTHER_BYTES)
    found = {
        file: UNCOMMITTED_AT_START.format(how=_how(digest)) for file, digest in now.items() if digest != pinned[file]
    }
    names = list(dict.fromkeys(filter(None, map(_own_name, targets))))
    if not names:
        return dict(list(found.items())[:MAX_ADDED])
    word = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    with GitWriter(root) as git:
        changed = [each for each in changes_since(git, place.base_commit, is_ours) if _stood(each, pinned)]
        for each in changed[:MAX_COMPARED]:
            text = git.status_of("cat-file", "blob", f"{place.base_commit}:{each.file}", accepted=(0, 128))[0]
            if named := word.search(text):
                how = "gone" if each.how == "deleted" else "changed"
                found[printable(each.file)] = NAMED_AT_START.format(name=named.group(), how=how)
    return dict(list(found.items())[:MAX_ADDED])


def _stood(change: Change, pinned: Mapping[str, str]) -> bool:
    """Return whether a file was as committed when the session began."""
    return change.how != "added" and change.file not in pinned


def _how(digest: str) -> str:
    return "changed" if digest else "gone"


def _own_name(target: str) -> str:
    """Return how other files name a symbol, or the module that a file is."""
    is_file = "/" in target or language_at(target).grammar is not None
    return PurePosixPath(target).stem if is_file else target.rpartition(".")[2]
