"""Collects the claims of all rounds for the answer, and counts those of models that were left out."""

from __future__ import annotations

from collections import Counter

import msgspec

from actors.capabilities.code_analysis.agents.synthesizer import claims_from_facts
from actors.capabilities.code_analysis.answers.reasoned_by import is_by_model, taken_over
from actors.capabilities.code_analysis.evidence.claims import Claim, read_claims
from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import ProducedRange
from actors.capabilities.code_analysis.handover.critique import StruckClaim
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput, execution_if_any
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.passes import ModelDraft, PassRecord, last_draft, passes_of
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput, synthesis_if_any
from runtime.run.stage_view import StageView


class Collected(msgspec.Struct, frozen=True):
    """Holds the claims by goal, the tools' ranges and commits, and the number of unreadable claims, of all rounds.

    `draft`: what a model left behind whose claims these are; None for claims of the rules. `asked`: the question.
    """

    claims: dict[str, list[Claim]]
    ranges: list[ProducedRange]
    commits: list[CommitNote]
    unreadable: int
    draft: ModelDraft | None = None
    asked: str = ""


def collected_claims(view: StageView) -> Collected:
    """Collect the results of all rounds.

    A round cut short by a bound or a failure counts too; if it was finished before, its repeats are merged. What a
    model wrote last is the whole answer: claims of other rounds are not added to it.
    """
    parts = passes_of(view)
    execution, synthesis = execution_if_any(view), synthesis_if_any(view)
    if (view.ended_by is not None or view.failures) and execution is not None:
        parts.append(_cut_short(view, execution, synthesis))
    drafted = last_draft(parts)
    claims: dict[str, list[Claim]] = {}
    ranges: dict[ProducedRange, None] = {}
    commits: dict[CommitNote, None] = {}
    unreadable = 0
    for part in parts:
        ranges |= dict.fromkeys(part.ranges)
        commits |= dict.fromkeys(part.commits)
        if drafted is not None and part is not drafted[0]:
            continue
        readable, bad = read_claims(part.hints_for_goals)
        unreadable += bad
        for goal, found in readable.items():
            known = claims.setdefault(goal, [])
            known += [claim for claim in found if claim not in known]
    draft, intent = None if drafted is None else drafted[1], intent_if_any(view)
    asked = "" if intent is None else intent.question.text
    return Collected(claims, list(ranges), list(commits), unreadable, draft, asked)


def _cut_short(view: StageView, execution: ExecutionOutput, synthesis: SynthesisOutput | None) -> PassRecord:
    """Return the record of a round that was cut short after its tools had run; a model's claims were not judged."""
    found = PassRecord(ranges=execution.ranges, commits=execution.commits)
    if synthesis is None or not synthesis.is_by_model:
        hints = claims_from_facts(view) if synthesis is None else synthesis.hints_for_goals
        return msgspec.structs.replace(found, hints_for_goals=hints)
    if (synthesis.passes_before or 0) < len(view.goals.finished_rounds):
        return found  # the critic has closed it
    draft = ModelDraft(
        dropped=synthesis.claims_dropped or {},
        open_questions=synthesis.open_questions,
        contradictions=synthesis.contradictions,
    )
    return msgspec.structs.replace(found, hints_for_goals=synthesis.hints_for_goals, draft=draft)


def claims_dropped(view: StageView) -> dict[str, int]:
    """Count, by reason, the claims of models that their facts did not bear, in all passes."""
    counts: Counter[str] = Counter()
    for done in passes_of(view):
        if isinstance(done.draft, ModelDraft):
            counts.update(done.draft.dropped)
    return dict(counts)


def claims_struck(view: StageView) -> list[StruckClaim]:
    """Return the claims that a model struck as their judge, in all passes."""
    return [struck for done in passes_of(view) for struck in done.struck or ()]


def model_unused(view: StageView) -> bool:
    """Return whether a model was wanted and rules took its place in every visit."""
    by_model = any(map(is_by_model, view.outputs.values())) or any(
        isinstance(done.draft, ModelDraft) or isinstance(done.struck, list) for done in passes_of(view)
    )
    return bool(taken_over(view.outputs)) and not by_model
