"""What integration hands on: the answer, with everything that it rests on; and the draft of it that is reviewed."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.run.stage_view import StageView


class AnswerCitation(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that the answer cites, as they stand in its document."""

    quote: str = ""
    why: str = ""
    file: str
    start_line: int
    end_line: int
    symbol: str | msgspec.UnsetType | None = msgspec.UNSET
    content_sha256: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def place(self) -> tuple[str, int, int]:
        """File and lines."""
        return (self.file, self.start_line, self.end_line)


class AnswerCommit(msgspec.Struct, frozen=True):
    """A commit that the answer tells of, as it stands in its document."""

    sha: str
    author: str
    date: str
    subject: str


class AnswerFinding(msgspec.Struct, frozen=True):
    """What is told for one goal."""

    goal: str
    status: str
    text: str
    citations: list[AnswerCitation]


class AnswerOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of integration. `bound` is what kept goals open; `ended_because` says so in words."""

    final_response: str
    citations: list[AnswerCitation]
    commits: list[AnswerCommit] = []
    findings: list[AnswerFinding] = []
    files_examined: list[str] = []
    open_goals: list[str] = []
    partial: bool = False
    ended_because: str | None = None
    bound: str | None = None
    citations_dropped: dict[str, int] = {}
    events_logged: int = 0
    memory_updated: bool = False
    traversal_state_persisted: bool = False
    review: str | msgspec.UnsetType = msgspec.UNSET


class ReviewShown(msgspec.Struct, frozen=True):
    """What the reviewer is shown: the answer and the marks of its citations."""

    final_response: str
    citations: list[str]


class DraftOutput(AnswerOutput, frozen=True, kw_only=True):
    """The answer as it would go out, the question to the reviewer, and the turn that the session is to remember."""

    agent_review_question: str
    agent_review_data: ReviewShown
    turn: SessionTurn | None = None

    @property
    def answer(self) -> AnswerOutput:
        """The answer without what is for the reviewer alone."""
        names = AnswerOutput.__struct_fields__
        return AnswerOutput(**{name: getattr(self, name) for name in names})


def draft_if_any(view: StageView) -> DraftOutput | None:
    """The draft that was reviewed, None before there is one."""
    return optional(view, "draft", DraftOutput)
