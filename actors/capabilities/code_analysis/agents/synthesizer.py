"""Turns facts into claims for each goal. The rules reasoner writes plain sentences about the facts.

Every claim rests on citations or commits that occur among the facts.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.capabilities.code_analysis.answers.absence.absent_subject import is_nowhere
from actors.capabilities.code_analysis.answers.by_aspect import claims_for
from actors.capabilities.code_analysis.answers.confidence import (
    Trust,
    all_features,
    features_of_choices,
    features_of_precedents,
    features_of_readings,
    trust_in,
)
from actors.capabilities.code_analysis.answers.evidence import Evidence, evidence_of
from actors.capabilities.code_analysis.answers.part_answers import trust_in_parts, unsure_parts
from actors.capabilities.code_analysis.evidence.claims import Claim, read_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.handover.execution import execution_of
from actors.capabilities.code_analysis.handover.intent import intent_of
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.plan import plan_of
from actors.capabilities.code_analysis.handover.reading import checked, written
from actors.capabilities.code_analysis.handover.synthesis import PartNote, PlaceNote, SynthesisOutput
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from actors.capabilities.code_analysis.ranking.relevance import (
    coverage,
    is_named,
)
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.codebase.search.presence.absence import Absence
from runtime.run.stage_view import StageView

MAX_RELATED = 6
MIN_COVERAGE = 0.25


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect the synthesizer's input: the question, the facts and the goals of this round."""
    return StageInput(
        {
            "question": intent_of(view).question,
            "facts": execution_of(view).facts,
            "absence": execution_of(view).absence,
            "meaning": execution_of(view).meaning,
            "part_absences": execution_of(view).part_absences,
            "target_goals": plan_of(view).target_goals,
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Write claims for each goal from the facts."""
    question = msgspec.convert(given.facts["question"], Question)
    evidence = evidence_of(question, msgspec.convert(given.facts["facts"], list[CodeFact]))
    absence = msgspec.convert(given.facts.get("absence"), Absence | None)
    is_told = "answer" in question.aspects or is_nowhere(question.identifiers, absence)
    ranked, compared = in_answer_order(evidence.facts), given.facts.get("meaning")
    features = all_features(question.text, ranked, evidence.facts, absence, compared) if is_told else {}
    trust = trust_in(features) if features else None
    absences = msgspec.convert(given.facts.get("part_absences", {}), dict[str, Absence])
    is_in_words = "answer" in question.aspects
    parts = trust_in_parts(question.text, ranked, absences, compared, trust) if is_in_words else []
    evidence = msgspec.structs.replace(evidence, unsure_parts=unsure_parts(parts))
    hints = write_claims(evidence, given.facts["target_goals"])
    made = [claim for claims in hints.values() for claim in claims]
    places = {(c.file, c.start_line) for claim in made for c in claim.citations}
    places |= {(commit.hash, 0) for claim in made for commit in claim.commits}
    seen = _places_of_earlier_rounds(view)
    best = [entity.as_document() for entity in evidence.entities[:MAX_RELATED]]
    output = SynthesisOutput(
        entities=msgspec.convert(best, list[PlaceNote]),
        key_flows=[claim.text for claims in hints.values() for claim in claims if claim.role == "step"],
        open_questions=[goal for goal, claims in hints.items() if not claims],
        hints_for_goals={goal: msgspec.to_builtins(claims) for goal, claims in hints.items()},
        accumulated_evidence=len(places | seen),
        new_evidence=len(places - seen),
        coverage=coverage(evidence.question, evidence.entities, evidence.facts),
        confidence=None if trust is None else trust.confidence,
        presence=None if trust is None else trust.presence,
        parts=[_part_note(text, own) for text, own in parts],
        confidence_features=features,
    )
    return written(output)


def _part_note(text: str, trust: Trust | None) -> PartNote:
    return PartNote(text) if trust is None else PartNote(text, trust.confidence, trust.presence)


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Validate the output's form; claims are read one by one where they are used."""
    return StageResult(checked("synthesizer", output, SynthesisOutput))


def claims_from_facts(view: StageView) -> dict[str, list[Claim]]:
    """Write claims for a round that was cut short after its tools had run."""
    evidence = evidence_of(intent_of(view).question, execution_of(view).facts)
    return write_claims(evidence, plan_of(view).target_goals)


def write_claims(evidence: Evidence, goals: list[str]) -> dict[str, list[Claim]]:
    """Map goal ids to claims; a goal without findings has an empty list.

    When the places mention too little of the question, no goal gets claims, however well the places rank; unless they
    were read together with it, a commit added such a thing, or a closed set is it: then presence goes by that.
    """
    too_little = coverage(evidence.question, evidence.entities, evidence.facts) < MIN_COVERAGE
    features = (features_of_readings, features_of_precedents, features_of_choices)
    is_trusted = any(features_in(evidence.facts) for features_in in features)
    if (too_little and not is_trusted) or _compares_nothing(evidence):
        return {goal: [] for goal in goals}
    return {goal: claims_for(evidence, goal.partition(":")[0]) for goal in goals}


def _compares_nothing(evidence: Evidence) -> bool:
    """Return whether a comparison names entities and no finding bears any of the names."""
    asked = evidence.question
    if not kind_of(asked).names_each or not asked.identifiers:
        return False
    return not any(is_named(entity.name, asked.identifiers) for entity in evidence.entities)


def _places_of_earlier_rounds(view: StageView) -> set[tuple[str, int]]:
    earlier = [
        claim
        for done in passes_of(view)
        for claims in read_claims(done.hints_for_goals)[0].values()
        for claim in claims
    ]
    places = {(citation.file, citation.start_line) for claim in earlier for citation in claim.citations}
    return places | {(commit.hash, 0) for claim in earlier for commit in claim.commits}
