"""Defines the record of a finished pass, read by later passes and by the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import CodeFact, ProducedRange
from actors.capabilities.code_analysis.evidence.steps import StepReport
from actors.capabilities.code_analysis.handover.critique import StruckClaim
from actors.capabilities.code_analysis.handover.execution import CodeRead, ContextSize
from actors.capabilities.code_analysis.handover.explained import ExplainedSteps
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import PartNote, PlaceNote
from runtime.run.goals import GoalBoard, RoundSummary
from runtime.run.stage_view import StageView
from runtime.tools.result import Attempt


class PlanNote(msgspec.Struct, frozen=True):
    """Holds the parts of a plan that are recorded with its pass."""

    rationale: str | None = None
    feasibility_score: int | None = None
    tries: int | None = None
    risk_factors: list[str] | None = None


class ModelDraft(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Holds what a pass leaves behind whose claims a model wrote: they are the whole answer so far.

    `dropped`: its claims that the facts did not bear, by reason; `seen`: the facts that it was shown and that this pass
    found; `asked`: the tool calls of its plan. `hint`: what the critic wants looked at next. `confidence`: how sure the
    model that judged the claims is that the answer is right and whole, 0 to 1; None if none judged them.
    """

    dropped: dict[str, int] = {}
    open_questions: list[str] = []
    contradictions: list[str] = []
    seen: list[CodeFact] = []
    asked: list[str] = []
    hint: str = ""
    confidence: float | None = None


class PassRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Records a pass when the critic closes it. `hints_for_goals` is read claim by claim.

    `confidence` and `presence`: those of the synthesizer.
    `draft`: only of a pass whose claims a model wrote. `struck`: the claims that a model struck as their judge;
    `next_steps`: the tool calls that it planned for the next pass.
    """

    hints_for_goals: Any = {}
    entities: list[PlaceNote] = []
    ranges: list[ProducedRange] = []
    commits: list[CommitNote] = []
    attempts: dict[str, list[Attempt]] = {}
    plan: PlanNote = PlanNote()
    steps: list[StepReport] = []
    files_read: list[str] = []
    code_read: list[CodeRead] = []
    context: ContextSize = ContextSize()
    confidence: float | None = None
    presence: float | None = None
    confidence_features: dict[str, float] = {}
    parts: list[PartNote] = []
    shown: dict[str, Any] = {}
    rules_took_over: list[dict[str, Any]] = []
    route: str = ""
    because: str = ""
    ended_because: str | None = None
    draft: ModelDraft | msgspec.UnsetType = msgspec.UNSET
    struck: list[StruckClaim] | msgspec.UnsetType = msgspec.UNSET
    next_steps: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    explained: ExplainedSteps | msgspec.UnsetType = msgspec.UNSET


def pass_record(summary: RoundSummary) -> PassRecord:
    """Read the record of a finished pass; raise HandoverError when it does not have the form of one."""
    return read("critic", summary.synthesis, PassRecord)


def passes_of_board(board: GoalBoard) -> list[PassRecord]:
    """Return the records of the finished passes on a goal board, in order."""
    return [pass_record(summary) for summary in board.finished_rounds]


def passes_of(view: StageView) -> list[PassRecord]:
    """Return the records of the finished passes of a run, in order."""
    return passes_of_board(view.goals)


def last_pass(view: StageView) -> PassRecord:
    """Return the record of the last finished pass; an empty record before there is one."""
    finished = view.goals.finished_rounds
    return pass_record(finished[-1]) if finished else PassRecord()


def last_draft(passes: Sequence[PassRecord]) -> tuple[PassRecord, ModelDraft] | None:
    """Return the last pass whose claims a model wrote, with its draft; None without one."""
    drafted = ((done, done.draft) for done in reversed(passes) if isinstance(done.draft, ModelDraft))
    return next(drafted, None)
