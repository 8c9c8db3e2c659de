"""Knows the files of a repository that decide what a session's tools see, and which have changed.

They are no part of a change, so no review shows them; an agent could leave out of the index what it has to account for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.code_change.evidence.changed_lines import digests_of
from runtime.codebase.files.project_config import CONFIG_FILE
from runtime.contracts.contract import Contract
from runtime.contracts.session_state import SessionState

IGNORE_FILE = ".gitignore"
STEERING = (CONFIG_FILE, IGNORE_FILE)
LOOKS = frozenset({"analyze_impact"})
STEERED = "{files} was changed since this session began, which decides what its tools see"
PUT_BACK = (
    "; put it back as it was, then go on. If it shall stay so, tell the person, who ends the session with "
    "`jeeves runs cancel {session}` for another one to begin"
)


def steering_of(root: Path) -> dict[str, str]:
    """Return the files that steer the tools, each with the digest of its content; empty for one that is not there."""
    return digests_of(root, STEERING)


def steered(state: SessionState) -> tuple[str, ...]:
    """Return which files that steer the tools were changed since a session began.

    From the branch on `.gitignore` may be part of the change, or come with the base branch.
    """
    if not state.steering:
        return ()
    now = steering_of(Path(state.repository))
    is_planned = state.place is not None and bool(state.place.branch)
    pinned = [file for file in state.steering if file == CONFIG_FILE or not (is_planned or file in state.permitted)]
    return tuple(file for file in pinned if now.get(file, "") != state.steering[file])


def looks(contract: Contract, tool: str) -> bool:
    """Return whether a tool's answer depends on what the index holds."""
    rule = contract.tools.get(tool)
    return tool in LOOKS or (rule is not None and bool(rule.kind))


def with_warning(state: SessionState, files: Sequence[str]) -> SessionState:
    """Return a session that tells to its end that files were changed that steer its tools."""
    warning = f"{STEERED.format(files=', '.join(files))}; tell the person"
    return state.with_(warnings=(*state.warnings, warning)) if files and warning not in state.warnings else state
