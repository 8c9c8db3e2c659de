"""Writes where a thing is configured: lines that set it, and settings that have to do with it."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.wording import (
    lead_claim,
    sets_a_value,
    setting_claim,
    setting_line_claim,
)
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.relevance import Entity, is_named, is_setting, shared_words, shares_name

MAX_SETTINGS = 6
# Kinds of members whose assignments within their own class count as settings.
FIELD_KINDS = frozenset({"attribute", "field"})
# A setting is listed if it shares this fraction of the question words that the best setting shares.
SETTING_SHARE = 0.6


def configuration(evidence: Evidence, *, is_all: bool = False) -> list[Claim]:
    """Return settings related to the subject; without any, the best results of the search for settings.

    `is_all`: the question asks for nothing else, so what leads the answer is not repeated and counts as a setting.
    """
    lines = settings_by_name(evidence, of_fields=is_all)
    set_at = [setting_line_claim(fact) for fact in lines]
    from_config = [entity for entity in evidence.entities if "settings" in entity.purposes]
    related = [entity for entity in evidence.entities if shares_name(entity, evidence.question)]
    fitting = [entity for entity in related if is_setting(entity)]
    primary_names = {entity.name for entity in evidence.leads if is_all}
    fitting = [entity for entity in fitting if not entity.is_test] or fitting
    shares = [shared_words(entity, evidence.question) for entity in fitting]
    enough = SETTING_SHARE * max(shares, default=0.0)
    fitting = [entity for entity, share in zip(fitting, shares, strict=True) if share >= enough]
    found = [entity for entity in fitting or from_config[:3] if entity.name not in primary_names]
    places = {(claim.citations[0].file, claim.citations[0].start_line) for claim in set_at}
    fresh = [entity for entity in found if (entity.citation.file, entity.citation.start_line) not in places]
    if set_at:
        names = evidence.question.identifiers
        fresh = [entity for entity in fresh if is_named(entity.name, names)]
    claims = cut_to([*set_at, *map(setting_claim, fresh)], MAX_SETTINGS, more=any(fact.more for fact in lines))
    is_lead_alone = not claims and is_all and not is_answered_by_lines(evidence)
    return [lead_claim(lead) for lead in evidence.leads if is_setting(lead)] if is_lead_alone else claims


def settings_by_name(evidence: Evidence, *, of_fields: bool) -> list[CodeFact]:
    """Return lines that set a named setting or read it from the environment; tests only as a last resort.

    `of_fields`: without a name, lines that set the field which leads the answer.
    """
    uses = [fact for kind in ("reference", "caller") for fact in evidence.of(kind)]
    names = evidence.question.identifiers
    found = [fact for fact in uses if any(sets_a_value(fact.citation.quote, name) for name in names)]
    if of_fields and not names:
        fields = [entity for entity in evidence.leads if entity.kind in FIELD_KINDS]
        found = [fact for fact in uses if any(_gives(fact, field) for field in fields)]
    return [fact for fact in found if not fact.is_test] or found


def _gives(fact: CodeFact, field: Entity) -> bool:
    """Return whether a line in the field's own class assigns the field, or a parameter of its name, a value."""
    owner, _, last = field.name.rpartition(".")
    is_own = fact.citation.file == field.citation.file and fact.name.startswith(f"{owner}.")
    return is_own and fact.citation != field.citation and sets_a_value(fact.citation.quote, last)


def is_answered_by_lines(evidence: Evidence) -> bool:
    """Return whether lines set a name that no place bears: then they are the answer, not similar names."""
    names = evidence.question.identifiers
    borne = not names or any(is_named(entity.name, names) for entity in evidence.leads)
    return not borne and bool(settings_by_name(evidence, of_fields=True))
