"""Defines the typed results of the library door, read from answer documents.

The fields have the names and meanings of docs/answers.md, except that the document's `answer` is `text` here. Results
are frozen and equal by value; fields of newer versions stay readable in `document`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypeVar

import msgspec

from runtime.errors import WireError
from runtime.memory.sessions import Turn as Turn
from runtime.primitives.visible_text import visible, visible_line
from runtime.store.run_records import RunSummary as RunSummary
from runtime.supervision.commands import ClientEvent
from serve.answer_document import exit_status
from serve.asked_runs import AskedRun as AskedRun

Event = ClientEvent
SessionResult = TypeVar("SessionResult")
Outcome = Literal["answered", "failed", "not_found", "needs_answer", "bound_reached"]

_OUTCOMES: dict[int, Outcome] = {0: "answered", 1: "failed", 3: "not_found", 4: "needs_answer", 5: "bound_reached"}


class Citation(msgspec.Struct, frozen=True):
    """Locates lines that prove a part of an answer, both ends included; `file` is relative to the repository."""

    file: str
    start_line: int
    end_line: int
    symbol: str | None = None
    quote: str = ""
    why: str = ""

    @property
    def place(self) -> str:
        """The file and its lines, as the marks in answers have them."""
        lines = f"{self.start_line}-{self.end_line}" if self.end_line != self.start_line else str(self.start_line)
        return f"{self.file}:{lines}"

    def __str__(self) -> str:
        return visible_line(self.place)


class Commit(msgspec.Struct, frozen=True):
    """Describes a commit that an answer mentions; `date` is the day."""

    sha: str
    author: str = ""
    date: str = ""
    subject: str = ""


class Finding(msgspec.Struct, frozen=True):
    """Holds what was found for one goal."""

    goal: str
    status: str
    text: str = ""
    citations: tuple[Citation, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """Holds what was found for one part of the question."""

    text: str
    status: str
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()


class Usage(msgspec.Struct, frozen=True):
    """Counts what a run used; `cost` in the currency of the model prices, 0 where there are none."""

    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tool_calls: int = 0
    hops: int = 0
    stages: int = 0
    duration_ms: int = 0
    cost: Decimal = Decimal(0)


class Interrupt(msgspec.Struct, frozen=True):
    """Describes the question that a run waits for; `expires_at_ms` None: it never expires."""

    id: str
    kind: str
    question: str = ""
    message: str | None = None
    stage: str | None = None
    expires_at_ms: int | None = None
    data: dict[str, Any] = {}


class Failure(msgspec.Struct, frozen=True):
    """Describes a stage that failed for good while the run continued."""

    stage: str
    error: Any = None


class Answer(msgspec.Struct, frozen=True):
    """Holds the answer of a run that is over, or the state of one that waits for `interrupt`."""

    run_id: str
    question: str
    repo: str
    text: str = msgspec.field(name="answer")
    commit: str | None = None
    status: str | None = None
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    commits: tuple[Commit, ...] = ()
    findings: tuple[Finding, ...] = ()
    parts: tuple[Part, ...] = ()
    files_examined: tuple[str, ...] = ()
    open_goals: tuple[str, ...] = ()
    terminal_reason: str | None = None
    terminal_detail: str | None = None
    bound: str | None = None
    partial: bool = False
    reasoner: str = ""
    usage: Usage = Usage()
    interrupt: Interrupt | None = None
    failures: tuple[Failure, ...] = ()
    document: dict[str, Any] = {}

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run, as `jeeves ask` tells it by its exit status."""
        return _OUTCOMES[exit_status(self.document)]

    def __str__(self) -> str:
        return visible(self.text)

    def _repr_html_(self) -> str:
        from serve.library.answer_html import html_of  # it imports this module

        return html_of(self)


def answer_in(document: dict[str, Any]) -> Answer:
    """Return the answer in an answer document. Raises WireError if it is none."""
    try:
        answer = msgspec.convert({**document, "document": document}, Answer)
        _ = answer.outcome
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise WireError(f"this is no answer document: {error}") from error
    return answer


class Session(msgspec.Struct, frozen=True):
    """Describes a session of the caller: when its first question was asked, and its last."""

    session_id: str
    opened_at_ms: int
    used_at_ms: int


class SessionTurns(msgspec.Struct, frozen=True):
    """Holds the newest turns of a session, the oldest of them first; `has_more`: there are older ones."""

    session_id: str
    turns: tuple[Turn, ...]
    has_more: bool
    has_state: bool


class DeletedSession(msgspec.Struct, frozen=True):
    """Counts what was deleted of a session; `run_logs` says how long the logs of its runs stay."""

    session_id: str
    turns: int
    states: int
    answers: int
    run_logs: str


def session_result(kind: type[SessionResult], document: Any) -> SessionResult:
    """Return a typed result about a session. Raises WireError for a document that is none."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise WireError(f"this is no {kind.__name__}: {error}") from error
