"""Exports the library door: questions about code, asked from a program or a notebook.

    from serve.client import Jeeves

`Jeeves` is asynchronous, `JeevesSync` the same without `await`. docs/guides/library.md has examples. The names below
stay; modules that they come from may move.
"""

from __future__ import annotations

from runtime.errors import JeevesError
from serve.library.jeeves import BatchResult, Jeeves
from serve.library.results import (
    Answer,
    AskedRun,
    Citation,
    Commit,
    DeletedSession,
    Event,
    Failure,
    Finding,
    Interrupt,
    Part,
    RunSummary,
    Session,
    SessionTurns,
    Turn,
    Usage,
)
from serve.library.sync import JeevesSync

__all__ = [
    "Answer",
    "AskedRun",
    "BatchResult",
    "Citation",
    "Commit",
    "DeletedSession",
    "Event",
    "Failure",
    "Finding",
    "Interrupt",
    "Jeeves",
    "JeevesError",
    "JeevesSync",
    "Part",
    "RunSummary",
    "Session",
    "SessionTurns",
    "Turn",
    "Usage",
]
