"""What the synthesizer hands on: claims for each goal, and how well they cover the question."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.handover.reading import optional, required
from runtime.run.stage_view import StageView


class PlaceNote(msgspec.Struct, frozen=True):
    """One of the best places of a pass."""

    name: str = ""
    kind: str = ""
    file: str = ""
    start_line: int = 0
    end_line: int = 0
    score: float = 0.0


class SynthesisOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of the synthesizer.

    `hints_for_goals`: goal → claims. They are read one by one (`read_claims`), because one that is none is counted and
    left out, and the others stay.
    """

    hints_for_goals: dict[str, Any]
    entities: list[PlaceNote] = []
    key_flows: list[str] = []
    open_questions: list[str] = []
    contradictions: list[str] = []
    accumulated_evidence: int = 0
    new_evidence: int = 0
    coverage: float = 0.0
    claims_dropped: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    filled_by_rules: list[str] | msgspec.UnsetType = msgspec.UNSET
    shown: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    reasoned_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    rules_took_over: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


def synthesis_of(view: StageView) -> SynthesisOutput:
    """What the synthesizer handed on; HandoverError without it."""
    return required(view, "synthesis", SynthesisOutput)


def synthesis_if_any(view: StageView) -> SynthesisOutput | None:
    """What the synthesizer handed on, None before it has."""
    return optional(view, "synthesis", SynthesisOutput)
