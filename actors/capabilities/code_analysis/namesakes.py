"""Other definitions of a name that a question asks for: the answer is about one, and says that there are more. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence import Evidence
from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.relevance import is_named

MAX_SHOWN = 3


def same_names(evidence: Evidence, claims: Sequence[Claim]) -> list[Claim]:
    """One claim where the first name of the question is defined at more places than `claims` tell of, else none.

    Who compares things or names a file has said which one is meant.
    """
    question = evidence.question
    if not question.identifiers or question.paths or question.kind in {"list_all", "compare"}:
        return []
    name = question.identifiers[0]
    bearing = {fact.place: fact for fact in evidence.of("definition") if fact.count and is_named(fact.name, (name,))}
    told = {(c.file, c.start_line, c.end_line) for claim in claims for c in claim.citations}
    others = [fact for place, fact in bearing.items() if place not in told and not fact.is_test]
    count = max((fact.count for fact in bearing.values()), default=0)
    if not others or not any(place in told for place in bearing) or count < 2:
        return []
    return [_claim(name, count, others[:MAX_SHOWN])]


def _claim(name: str, count: int, others: Sequence[Fact]) -> Claim:
    *first, last = [code_span(fact.citation.file) for fact in others]
    files = f"{', '.join(first)} and {last}" if first else last
    text = f"{code_span(name)} is defined at {count} places, also in {files}; name its file or class to ask for another"
    return Claim("caveat", text, tuple(fact.citation for fact in others))
