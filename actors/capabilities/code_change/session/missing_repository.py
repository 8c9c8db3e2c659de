"""Tells that the repository of a session is not where it was. Effects block."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.contracts.session_state import SessionState

GONE = (
    "{root} is no repository any more: it was renamed, moved or deleted while this session works on it. Nothing that "
    "was accepted is lost: put it back under that path and go on, or `jeeves runs cancel {session}` ends the session"
)


def missing_repository(state: SessionState) -> str | None:
    """Return that a session's repository is gone, and what to do; None where it is in its place."""
    if os.path.lexists(Path(state.repository) / ".git"):
        return None
    return GONE.format(root=state.repository, session=state.session_id)
