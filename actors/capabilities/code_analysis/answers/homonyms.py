"""Other definitions of a name that a question asks for: the answer is about one, and says that there are more. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.relevance import is_named
from runtime.codebase.citation import Citation

MAX_SHOWN = 3


def same_names(evidence: Evidence, claims: Sequence[Claim]) -> list[Claim]:
    """One claim where the first name of the question is borne by more than what `claims` tell of, else none.

    Who compares things or names a file has said which one is meant. What has the same name in the same class, for other
    arguments, is no other thing.
    """
    question = evidence.question
    if not question.identifiers or question.paths or kind_of(question).of_several:
        return []
    name = question.identifiers[0]
    bearing = {fact.place: fact for fact in evidence.of("definition") if fact.count and is_named(fact.name, (name,))}
    told = [citation for claim in claims for citation in claim.citations]
    same = {(fact.citation.file, fact.name) for fact in bearing.values() if _is_told(fact, told)}
    others = {
        fact.citation.file: fact
        for fact in reversed(bearing.values())
        if not fact.is_test and (fact.citation.file, fact.name) not in same
    }
    count = max((fact.count for fact in bearing.values()), default=0)
    if not others or not same or count < 2:
        return []
    return [_claim(name, count, list(reversed(others.values()))[:MAX_SHOWN])]


def _is_told(fact: CodeFact, told: Sequence[Citation]) -> bool:
    """Whether one of the places that an answer tells of touches it: a definition may be told with its comment."""
    file, start, end = fact.place
    return any(one.file == file and one.start_line <= end and start <= one.end_line for one in told)


def _claim(name: str, count: int, others: Sequence[CodeFact]) -> Claim:
    *first, last = [code_span(fact.citation.file) for fact in others]
    files = f"{', '.join(first)} and {last}" if first else last
    text = f"{code_span(name)} is defined at {count} places, also in {files}; name its file or class to ask for another"
    return Claim("caveat", text, tuple(fact.citation for fact in others))
