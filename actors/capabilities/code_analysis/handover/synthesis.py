"""Defines the output of the synthesizer: claims by goal and their coverage of the question."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.handover.reading import optional, required
from runtime.run.stage_view import StageView


class PlaceNote(msgspec.Struct, frozen=True):
    """Describes one of the best places of a pass."""

    name: str = ""
    kind: str = ""
    file: str = ""
    start_line: int = 0
    end_line: int = 0
    score: float = 0.0


class PartNote(msgspec.Struct, frozen=True):
    """Holds a part of a question in words and how far its answer can be trusted; None where nothing tells.

    `presence`: the probability that the repository has what the part asks for, `confidence`: that its answer is good.
    """

    text: str
    confidence: float | None = None
    presence: float | None = None


class SynthesisOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Defines the output of the synthesizer.

    `confidence`: of the answer to a question in words, 0 to 1, from its features; `presence`: the probability that the
    repository has what is asked about; both None for other questions. `parts`: those of a question in words, in order.
    `hints_for_goals` maps a goal to its claims. They are read one by one (`read_claims`), so an unreadable claim is
    counted and left out without losing the others. `claims_dropped` counts, by reason, claims of a model that its facts
    do not bear; `seen` are the facts that it was shown, for later rounds. `passes_before`: the number of passes that
    were over when a model wrote.
    """

    hints_for_goals: dict[str, Any]
    entities: list[PlaceNote] = []
    key_flows: list[str] = []
    open_questions: list[str] = []
    contradictions: list[str] = []
    accumulated_evidence: int = 0
    new_evidence: int = 0
    coverage: float = 0.0
    confidence: float | None = None
    presence: float | None = None
    confidence_features: dict[str, float] = {}
    parts: list[PartNote] = []
    claims_dropped: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    seen: list[CodeFact] | msgspec.UnsetType = msgspec.UNSET
    passes_before: int | msgspec.UnsetType = msgspec.UNSET
    shown: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_by_model(self) -> bool:
        """True when a model wrote the claims: then they are the whole answer, in its order."""
        return isinstance(self.reasoned_by, dict) and self.reasoned_by.get("reasoner") == "llm"


def synthesis_of(view: StageView) -> SynthesisOutput:
    """Return the output of the synthesizer; raise HandoverError when it is missing."""
    return required(view, "synthesis", SynthesisOutput)


def synthesis_if_any(view: StageView) -> SynthesisOutput | None:
    """Return the output of the synthesizer; None before there is one."""
    return optional(view, "synthesis", SynthesisOutput)
