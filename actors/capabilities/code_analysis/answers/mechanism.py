"""Writes how a thing works: what documents say of doing it, its code, and the calls that follow."""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.answers.documents.how_to import guidance
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.wording import code_claim, step_claim
from actors.capabilities.code_analysis.evidence.call_flow import is_common, reached
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to, with_total
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.relevance import Entity, shares_name
from runtime.codebase.citation import Citation

MAX_STEPS = 8
MAX_TRACED = 14
# A further place whose code is shown has this share of the best place's score.
SECOND_SHARE = 0.7


def mechanism(evidence: Evidence, hooks: Sequence[Claim] = ()) -> list[Claim]:
    """Return claims about instructions, code and calls.

    Instructions stand alone where a document leads, or where there are `hooks`, claims on what is to be written.
    """
    said = guidance(evidence.question, evidence.facts) if evidence.question.asks_for_guidance else []
    if hooks or (said and evidence.leads and evidence.leads[0].kind == "section"):
        return [*said, *hooks]
    return [*code_of_places(evidence, said), *steps_of(evidence)]


def code_of_places(evidence: Evidence, before: Sequence[Claim] = ()) -> list[Claim]:
    """Return the claims `before`, then the code of the best places, overlapping lines once."""
    claims = list(before)
    for entity in with_code(evidence):
        claim = code_claim(entity, evidence.question)
        if claim is not None and not any(overlap(claim.citations[0], other.citations[0]) for other in claims):
            claims.append(claim)
    return claims


def overlap(one: Citation, other: Citation) -> bool:
    """Return whether two citations share lines."""
    return one.file == other.file and one.start_line <= other.end_line and other.start_line <= one.end_line


def steps_of(evidence: Evidence, outside: str | None = None) -> list[Claim]:
    """Return the calls of the primary entities: the traced ones, else their direct calls.

    `outside`: calls of what has a name that begins so are left out.
    """
    traced = reached(evidence.of("trace"), [entity.name for entity in evidence.leads])
    traced = [fact for fact in traced if outside is None or not fact.name.startswith(outside)]
    if traced and evidence.is_lead(traced[0].about):
        return cut_to([step_claim(fact, fact.about, evidence.call_line(fact)) for fact in traced], MAX_TRACED)
    steps = [fact for fact in evidence.about_leads("callee") if not is_common(fact)]
    steps = [fact for fact in steps if outside is None or not fact.name.startswith(outside)]
    own = [fact for fact in steps if not evidence.leads or fact.name != evidence.leads[0].name]
    claims = [step_claim(fact, evidence.full_name(fact.about), evidence.call_line(fact)) for fact in own]
    is_cut = any(fact.more for fact in own)
    delegate = evidence.inner
    if delegate is None or not kind_of(evidence.question).follows_delegate:
        return cut_to(claims, MAX_STEPS, more=is_cut)
    further = [fact for fact in evidence.of("trace") if fact.about == delegate.name and not is_common(fact)]
    behind = [step_claim(fact, fact.about, evidence.call_line(fact)) for fact in further]
    shown = [*claims[:MAX_STEPS], *behind[:MAX_STEPS]]
    return with_total(shown, len(claims) + len(behind), more=is_cut)


def with_code(evidence: Evidence) -> list[Entity]:
    """Return the places whose code is shown: the primary ones, then the next best related to the question."""
    question, primary_entities = evidence.question, evidence.leads
    enough = SECOND_SHARE * primary_entities[0].score if primary_entities else 0.0
    others = [
        entity
        for entity in evidence.entities[:4]
        if entity not in primary_entities
        and entity.score >= enough
        and shares_name(entity, question)
        and not (entity.kind == "prototype" and any(entity.name == lead.name for lead in primary_entities))
    ]
    most = max(kind_of(question).max_excerpts, len(primary_entities))
    delegates = [evidence.inner] if kind_of(question).follows_delegate and evidence.inner is not None else []
    rest = [entity for entity in others if entity.name not in {one.name for one in delegates}]
    return [entity for entity in (*primary_entities, *delegates, *rest) if entity.code is not None][:most]
