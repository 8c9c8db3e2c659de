"""Defines the calls of sessions of changes as messages, and their names as queries on the bus.

Each call names its `driver`: the client on whose behalf a session is driven. A host raises nothing for what a session
refuses; answers are plain data. An answer with `asks` decides nothing: the call is to be made again with `supplied`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from actors.capabilities.code_change.session.sessions import Recovery

Answer = dict[str, Any]

# The key of an answer which asks the door for something that only it can supply, and the two things that it may ask.
ASKS = "asks"
ASKS_PERSON = "person"
ASKS_LIKENESS = "likeness"


class Supplied(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds what a door supplied: question → what a person said, None for no answer; symbol → likeness to the query."""

    answers: dict[str, bool | None] = {}
    likeness: dict[str, float] | None = None


class _Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    driver: str


class StartChange(_Call, frozen=True):
    """Begins a session on the repository at `root`, or goes on with one that was left. `key`: as in SubmitPhase."""

    root: str
    intent: str
    query: str
    flags: tuple[str, ...] = ()
    gate_level: str = "auto"
    recovery: Recovery = ""
    key: str = ""
    supplied: Supplied = Supplied()


class FindChange(_Call, frozen=True):
    """Asks what is known of a session of the repository at `root` that this driver does not drive."""

    root: str


class CleanBranches(_Call, frozen=True):
    """Deletes the branches of earlier sessions in the repository at `root` that a person agrees to delete."""

    root: str
    supplied: Supplied = Supplied()


class _OfSession(_Call, frozen=True):
    session_id: str


class SubmitPhase(_OfSession, frozen=True):
    """Hands in a phase. `submission`: payload and compaction_count as JSON text, whatever a client made of them.

    `key` names the call: a host that is asked twice, because one died after it had kept the submission, takes it once.
    """

    submission: str
    key: str = ""
    supplied: Supplied = Supplied()


class ChangeStatus(_OfSession, frozen=True):
    """Asks where a session stands."""


class AnswerEscalation(_OfSession, frozen=True):
    """Takes a person's answer to an escalation."""

    text: str
    goes_on: bool


class PermitTool(_OfSession, frozen=True):
    """Asks whether a tool may be called now; the answer is empty, or what to say instead."""

    tool: str


class RecordUse(_OfSession, frozen=True):
    """Enters a call of a tool: `shown` file → ranges of lines, inclusive; `must_verify` are files to be added.

    A call that `is_vain` was made and counts for nothing. The answer is file → why, of those that must be verified
    besides.
    """

    tool: str
    targets: tuple[str, ...] = ()
    shown: dict[str, tuple[tuple[int, int], ...]] = {}
    must_verify: tuple[str, ...] = ()
    is_vain: bool = False


class CheckTarget(_OfSession, frozen=True):
    """Asks whether a file may be written."""

    file: str


class AddExplored(_OfSession, frozen=True):
    """Adds files to those that were explored."""

    files: tuple[str, ...]


class ReviewChanges(_OfSession, frozen=True):
    """Asks for the files that differ from where the change began."""


Call = (
    StartChange
    | FindChange
    | CleanBranches
    | SubmitPhase
    | ChangeStatus
    | AnswerEscalation
    | PermitTool
    | RecordUse
    | CheckTarget
    | AddExplored
    | ReviewChanges
)

CALLS: Mapping[str, type[Call]] = {
    "code_change.start": StartChange,
    "code_change.find": FindChange,
    "code_change.clean": CleanBranches,
    "code_change.submit": SubmitPhase,
    "code_change.status": ChangeStatus,
    "code_change.answer": AnswerEscalation,
    "code_change.permit": PermitTool,
    "code_change.record": RecordUse,
    "code_change.check_target": CheckTarget,
    "code_change.add_explored": AddExplored,
    "code_change.review": ReviewChanges,
}


class ChangeCalls(Protocol):
    """Carries calls to where sessions are held."""

    async def call(self, call: Call) -> Answer:
        """Return the answer. Raises FencedError for a session that another client drives, and StateStorageError."""
        ...

    async def close(self) -> None:
        """Let go of what calls have opened."""
        ...


def name_of(call: Call) -> str:
    """Return the name of a call as a query on the bus."""
    return next(name for name, kind in CALLS.items() if type(call) is kind)
