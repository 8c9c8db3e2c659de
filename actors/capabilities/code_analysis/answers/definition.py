"""Writes what a thing is and where it stands: the best places, then those related to them."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.homonyms import same_names
from actors.capabilities.code_analysis.answers.mechanism import with_code
from actors.capabilities.code_analysis.answers.uses import is_use, lines_that_may_use
from actors.capabilities.code_analysis.answers.wording import (
    lead_claim,
    named_in_tests_claim,
    named_line_claim,
    related_claim,
)
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.relevance import is_named

MAX_RELATED = 6
# A related place has this share of the best place's score.
RELATED_SHARE = 0.35


def definition(evidence: Evidence) -> list[Claim]:
    """Return claims about the best places, the related ones and others of the same name."""
    shown = {entity.name for entity in evidence.leads}
    if "mechanism" in kind_of(evidence.question).aspects:
        shown |= {entity.name for entity in with_code(evidence)}
    others = [entity for entity in evidence.entities if entity.name not in shown]
    enough = evidence.entities[0].score * RELATED_SHARE if evidence.entities else 0.0
    if evidence.is_of_names:
        others = [entity for entity in others if is_named(entity.name, evidence.question.identifiers)]
    related = [related_claim(entity) for entity in others[:MAX_RELATED] if entity.score >= enough]
    claims = [lead_claim(entity) for entity in evidence.leads] + related
    return [*claims, *same_names(evidence, claims)]


def leads_alone(evidence: Evidence) -> list[Claim]:
    """Return claims about the best places and nothing else."""
    return [lead_claim(entity) for entity in evidence.leads]


def line_that_has_it(evidence: Evidence) -> Claim | None:
    """Return the first use of a name that no finding bears, or only tests define; None without one."""
    if evidence.is_borne_by_tests_alone:
        lines = lines_that_may_use(evidence)
        return named_in_tests_claim(lines[0]) if lines else None
    if not evidence.question.identifiers or evidence.is_of_names:
        return None
    uses = [fact for fact in evidence.about_leads("reference") if not fact.is_test and is_use(fact)]
    return named_line_claim(uses[0]) if uses else None
