"""Finds problems that only the user can settle, after the code was explored.

These are names that do not exist, names with many definitions, and contradictory results. Pure. Another module decides
whether the user is asked; without a user, the answer reports the same about names.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.relevance import is_named
from runtime.codebase.files.words import index_terms
from runtime.codebase.resolution.symbol_links import normal_name

MANY_MATCHES = 4
SHOWN = 4


def blocking_issues(question: Question, facts: Sequence[CodeFact], contradictions: Sequence[str] = ()) -> list[str]:
    """Return one sentence per problem.

    The problems: none of the named entities exists; the first name has MANY_MATCHES definitions or more; the
    synthesizer reported contradictions.
    """
    missing = missing_names(question, facts)
    if missing and len(missing) == len(question.identifiers):
        near = nearest_names(missing, facts)
        alike = f"; names like it are {', '.join(map(code_span, near))}" if near else ""
        return [f"There is no {' or '.join(map(code_span, missing))} in this repository{alike}"]
    ambiguous = [sentence for name in question.identifiers[:1] if (sentence := _ambiguous(name, question, facts))]
    return ambiguous + [f"What was found contradicts itself: {said}" for said in contradictions[:SHOWN]]


def missing_names(question: Question, facts: Sequence[CodeFact]) -> list[str]:
    """Return the names in the question that no finding bears or mentions."""
    shown = "\n".join(
        f"{fact.name} {fact.signature} {fact.citation.quote} {fact.citation.file} {fact.text}" for fact in facts
    )
    return [name for name in question.identifiers if normal_name(name).rpartition(".")[2] not in shown]


def nearest_names(missing: Sequence[str], facts: Sequence[CodeFact]) -> list[str]:
    """Return defined names that share a word with a missing name, those with most shared words first."""
    wanted = {word for name in missing for word in index_terms(name).split()}
    shared: dict[str, int] = {}
    for fact in facts:
        if fact.kind == "definition" and fact.name:
            shared[fact.name] = len(wanted.intersection(index_terms(fact.name).split()))
    ranked = sorted((name for name, count in shared.items() if count), key=lambda name: (-shared[name], name))
    return ranked[:SHOWN]


def _ambiguous(name: str, question: Question, facts: Sequence[CodeFact]) -> str | None:
    places = {
        fact.place: fact
        for fact in facts
        if fact.kind == "definition" and not fact.is_test and is_named(fact.name, (name,))
    }
    if len(places) < MANY_MATCHES or question.paths or kind_of(question).of_several:
        return None
    listed = [f"{code_span(fact.name)} in {code_span(fact.citation.file)}" for fact in places.values()][:SHOWN]
    count = max(len(places), *(fact.count for fact in places.values()))
    more = ", …" if count > len(listed) else ""
    return f"{code_span(name)} is defined at {count} places: {', '.join(listed)}{more}"
