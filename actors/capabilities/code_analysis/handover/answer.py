"""Defines the output of integration: the answer with its evidence, and the draft that is reviewed."""

from __future__ import annotations

from typing import Literal

import msgspec

from actors.capabilities.code_analysis.handover.critique import StruckClaim
from actors.capabilities.code_analysis.handover.reading import optional
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from runtime.run.stage_view import StageView


class AnswerCitation(msgspec.Struct, frozen=True, kw_only=True):
    """Represents lines that the answer cites, in the form of the answer document."""

    quote: str = ""
    why: str = ""
    file: str
    start_line: int
    end_line: int
    symbol: str | msgspec.UnsetType | None = msgspec.UNSET
    content_sha256: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def place(self) -> tuple[str, int, int]:
        """The file with the first and last line."""
        return (self.file, self.start_line, self.end_line)


class AnswerCommit(msgspec.Struct, frozen=True):
    """Represents a commit that the answer mentions, in the form of the answer document."""

    sha: str
    author: str
    date: str
    subject: str


class AnswerFinding(msgspec.Struct, frozen=True):
    """Holds the text and citations for one goal."""

    goal: str
    status: str
    text: str
    citations: list[AnswerCitation]


class AnswerPart(msgspec.Struct, frozen=True):
    """Represents one thing that was asked, in the form of the answer document.

    `confidence`: None where nothing tells.
    """

    text: str
    status: Literal["answered", "not_found"]
    confidence: float | None
    citations: list[AnswerCitation]


class LeftOutClaim(msgspec.Struct, frozen=True):
    """Represents a claim that was left out of the answer because its lines do not bear it, and why."""

    text: str
    cited: list[str]
    why: list[str]


class AnswerOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of integration.

    `confidence`: how far the answer can be trusted, 0 to 1, None where nothing tells; `status`: `not_found` for an
    answer that lists likely places alone. `parts`: what was asked, in order. `bound` names the bound that left goals
    open; `ended_because` gives the reason in words. `claims_left_out`: those that the check of the files did not let
    pass. `claims_dropped` counts, by reason, claims that a model wrote and
    that were left out, `claims_struck` are those that the judge struck.
    `model_unused`: a model was wanted, and rules took its place in every visit.
    """

    final_response: str
    citations: list[AnswerCitation]
    commits: list[AnswerCommit] = []
    findings: list[AnswerFinding] = []
    parts: list[AnswerPart] = []
    files_examined: list[str] = []
    open_goals: list[str] = []
    partial: bool = False
    confidence: float | None = None
    status: Literal["answered", "not_found"] | None = None
    ended_because: str | None = None
    bound: str | None = None
    citations_dropped: dict[str, int] = {}
    claims_left_out: list[LeftOutClaim] | msgspec.UnsetType = msgspec.UNSET
    claims_dropped: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    claims_struck: list[StruckClaim] | msgspec.UnsetType = msgspec.UNSET
    model_unused: bool | msgspec.UnsetType = msgspec.UNSET
    events_logged: int = 0
    memory_updated: bool = False
    traversal_state_persisted: bool = False
    review: str | msgspec.UnsetType = msgspec.UNSET


class ReviewMaterial(msgspec.Struct, frozen=True):
    """Holds the material for the reviewer: the answer and the marks of its citations."""

    final_response: str
    citations: list[str]


class DraftOutput(AnswerOutput, frozen=True, kw_only=True):
    """Defines the output of the draft: the answer, the question to the reviewer, and the session turn to store."""

    agent_review_question: str
    agent_review_data: ReviewMaterial
    turn: SessionTurn | None = None

    @property
    def answer(self) -> AnswerOutput:
        """The answer without the fields that only the reviewer needs."""
        names = AnswerOutput.__struct_fields__
        return AnswerOutput(**{name: getattr(self, name) for name in names})


def draft_if_any(view: StageView) -> DraftOutput | None:
    """Return the draft that was reviewed; None before there is one."""
    return optional(view, "draft", DraftOutput)
