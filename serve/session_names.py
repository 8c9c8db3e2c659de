"""Checks the names that callers give sessions, by the one rule of all doors."""

from __future__ import annotations

from runtime.errors import InputError
from runtime.memory.sessions import check_session_id

NO_PART_OF_A_PATH = (".", "..")
"""Names that no request can carry: clients take such a part of a path away, percent-encoded too."""


def check_session_name(name: str) -> None:
    """Raise InputError for what is no session id, or none that a path can name."""
    check_session_id(name)
    if name in NO_PART_OF_A_PATH:
        raise InputError(f"a session id is not {name!r}, which no URL can name", session_id=name)
