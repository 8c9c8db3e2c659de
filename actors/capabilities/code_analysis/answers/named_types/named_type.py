"""Writes what a type has, where the question names it and asks for nothing else."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.definition import definition
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.mechanism import code_of_places, mechanism, steps_of
from actors.capabilities.code_analysis.answers.named_types.members import TYPE_KINDS, VALUES, members_of
from actors.capabilities.code_analysis.answers.wording import member_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to, with_total

# A type of at most so many lines is shown beside what it has.
MAX_SHOWN_LINES = 40
MAX_MEMBERS = 12
# Languages in which other files may add members to a type: how many there are is not known from one.
_SPREAD = (".go", ".rs", ".cs", ".rb", ".swift", ".cc", ".cpp", ".cxx", ".hpp", ".h")


def what_it_has(evidence: Evidence) -> list[Claim]:
    """Return what a type has, with its code where that is short; of anything else its code and its calls."""
    members = member_claims(evidence)
    return [*_short_code(evidence), *members] if members else mechanism(evidence)


def how_it_works(evidence: Evidence) -> list[Claim]:
    """Return what a type has and calls of others, with its code where that is short; else code and calls."""
    members = member_claims(evidence)
    if not members:
        return mechanism(evidence)
    return [*_short_code(evidence), *members, *steps_of(evidence, outside=f"{evidence.leads[0].name}.")]


def what_it_is(evidence: Evidence) -> list[Claim]:
    """Return what a thing is, and what is related to it but none of what it has."""
    owners = tuple(f"{lead.name}." for lead in evidence.leads) if member_claims(evidence) else ()
    return [claim for claim in definition(evidence) if claim.role != "related" or not claim.subject.startswith(owners)]


def _short_code(evidence: Evidence) -> list[Claim]:
    lead = evidence.leads[0]
    own = members_of(lead, evidence.facts, with_private=True)
    is_short = all(fact.citation.end_line - lead.citation.start_line < MAX_SHOWN_LINES for fact in own)
    shown = code_of_places(evidence) if is_short else []
    return [claim for claim in shown if len(claim.code.strip().splitlines()) > 1]


def member_claims(evidence: Evidence) -> list[Claim]:
    """Return a claim for each member of the type that leads: public ones, what it does before the values it holds.

    Empty where something else leads, or its members were not asked for.
    """
    lead = evidence.leads[0] if len(evidence.leads) == 1 else None
    if lead is None or lead.kind not in TYPE_KINDS:
        return []
    own = members_of(lead, evidence.facts)
    own.sort(key=lambda fact: fact.symbol_kind in VALUES)
    claims = [member_claim(fact, lead.name) for fact in own]
    is_cut = len(claims) > MAX_MEMBERS and lead.citation.file.endswith(_SPREAD)
    if is_cut or any(fact.more for fact in own):
        shown = claims[:MAX_MEMBERS]
        return with_total(shown, len(shown), more=True)
    return cut_to(claims, MAX_MEMBERS)
