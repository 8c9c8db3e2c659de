"""Knows the files of a repository that decide what a session's tools see, and which have changed.

They are no part of a change, so no review shows them; an agent could leave out of the index what it has to account for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import digests_of
from runtime.codebase.files.ignore_files import IGNORE_FILE, ignore_files_below
from runtime.codebase.files.project_config import CONFIG_FILE
from runtime.codebase.git.git_writer import GitWriter
from runtime.contracts.contract import Contract
from runtime.contracts.session_state import SessionState
from runtime.errors import RepositoryError

STEERING = (CONFIG_FILE, IGNORE_FILE)
MAX_NESTED = 200
LOOKS = frozenset({"analyze_impact"})
STEERED = "{files} was changed since this session began, which decides what its tools see"
PUT_BACK = (
    "; put it back as it was, then go on. If it shall stay so, tell the person, who ends the session with "
    "`jeeves runs cancel {session}` for another one to begin"
)


def steering_of(root: Path) -> dict[str, str]:
    """Return the files that steer the tools, each with the digest of its content; empty for one that is not there.

    Ignore files of folders are among them, at most 200.
    """
    return digests_of(root, (*STEERING, *ignore_files_below(root)[:MAX_NESTED]))


def steered(state: SessionState) -> tuple[str, ...]:
    """Return which files that steer the tools were changed since a session began.

    From the branch on `.gitignore` may be part of the change, or come with the base branch.
    """
    if not state.steering:
        return ()
    root = Path(state.repository)
    is_planned = state.place is not None and bool(state.place.branch)
    pinned = [file for file in state.steering if file == CONFIG_FILE or not (is_planned or file in state.permitted)]
    now = digests_of(root, pinned)
    changed = [file for file in pinned if now[file] != state.steering[file]]
    if is_planned or len(state.steering) >= MAX_NESTED:
        return tuple(changed)
    made = [file for file in ignore_files_below(root) if file not in state.steering and file not in state.permitted]
    return (*changed, *_hiding(root, made))


def _hiding(root: Path, made: Sequence[str]) -> list[str]:
    """Return which new ignore files lie in folders with files that git knows; others, as of caches, hide nothing."""
    if not made:
        return []
    try:
        with GitWriter(root) as git:
            return [file for file in made if git.run("ls-files", "--", file.removesuffix(f"/{IGNORE_FILE}"))]
    except RepositoryError:
        return list(made)


def looks(contract: Contract, tool: str) -> bool:
    """Return whether a tool's answer depends on what the index holds."""
    rule = contract.tools.get(tool)
    return tool in LOOKS or (rule is not None and bool(rule.kind))


def with_warning(state: SessionState, files: Sequence[str]) -> SessionState:
    """Return a session that tells to its end that files were changed that steer its tools."""
    warning = f"{STEERED.format(files=', '.join(files))}; tell the person"
    return state.with_(warnings=(*state.warnings, warning)) if files and warning not in state.warnings else state
