"""Writes what a dependency is needed for: where it is declared, which files import it, and which lines use it.

That nothing imports it is told of what was looked for: a plugin, or a program that is run, needs no import.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span, cut_to, with_total
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import query_terms

MAX_DECLARED = 3
MAX_IMPORTERS = 5
MAX_USES = 8
MAX_MENTIONS = 5
MAX_LISTED = 40

_NEEDED: Mapping[str, str] = {
    "runtime": "",
    "optional": ", as optional",
    "development": ", for development",
    "build": ", for building",
    "indirect": ", as what another dependency needs",
}
# The words of a question that ask for one group alone.
_ASKED_GROUPS: Mapping[str, frozenset[str]] = {
    group: frozenset(query_terms(words).counts)
    for group, words in {
        "runtime": "runtime production",
        "optional": "optional extra extras",
        "development": "development dev test tests testing",
        "build": "build building",
        "indirect": "indirect transitive",
    }.items()
}


def requirements(evidence: Evidence) -> list[Claim]:
    """Return what is declared, imported and used of the dependency that is asked for; of all, what is declared."""
    facts = evidence.of("requirement")
    declared = [fact for fact in facts if fact.symbol_kind in _NEEDED]
    if not evidence.question.identifiers:
        return _all(evidence.question, declared)
    each = list(dict.fromkeys(fact.about for fact in facts))
    return [claim for name in each for claim in _of_one([fact for fact in facts if fact.about == name], len(each))]


def _of_one(facts: Sequence[CodeFact], dependencies: int) -> list[Claim]:
    """Return what is told of one of so many dependencies."""
    declared = [fact for fact in facts if fact.symbol_kind in _NEEDED]
    by_role = {role: [fact for fact in facts if fact.symbol_kind == role] for role in ("import", "use", "mention")}
    most = MAX_USES // dependencies
    uses = [_line("caller", fact, used="" if dependencies > 1 else fact.about) for fact in by_role["use"]]
    return [
        *_declared(declared, by_role["import"], by_role["use"]),
        *_importers(by_role["import"], {fact.citation.file for fact in by_role["use"][:most]}),
        *cut_to(uses, most),
        *(_line("related", fact) for fact in by_role["mention"][:MAX_MENTIONS]),
    ]


def _all(question: Question, declared: Sequence[CodeFact]) -> list[Claim]:
    """Return one entry for each dependency, without those that only others need unless they are asked for."""
    asked = [group for group, terms in _ASKED_GROUPS.items() if not terms.isdisjoint(question.terms)]
    told = [fact for fact in declared if fact.symbol_kind in (asked or [g for g in _NEEDED if g != "indirect"])]
    each = {(fact.name, fact.symbol_kind): fact for fact in reversed(told)}
    kept = [fact for fact in told if each.get((fact.name, fact.symbol_kind)) is fact]
    return cut_to([_entry(fact) for fact in kept], MAX_LISTED, more=any(fact.more for fact in declared))


def _entry(fact: CodeFact) -> Claim:
    """Return the line that declares it, with its name where the line has another one, and what it is needed for."""
    quote = fact.citation.quote.strip()
    name, needed = code_span(fact.name), _NEEDED[fact.symbol_kind]
    text = f"{code_span(quote)}{needed}" if fact.name in quote else f"{name}{needed}: {code_span(quote)}"
    return Claim("item", text, (fact.citation,), subject=fact.name, quotes=(quote,), unquoted=f"{name}{needed}")


def _declared(declared: Sequence[CodeFact], imports: Sequence[CodeFact], uses: Sequence[CodeFact]) -> list[Claim]:
    """Return the places that declare it, the first with how many files import it, or that none was found that does."""
    claims = []
    for place, fact in enumerate(declared[:MAX_DECLARED]):
        who = code_span(fact.name) if not place else "It"
        also = " also" if place else ""
        text = f"{who} is{also} declared in {code_span(fact.citation.file)}{_NEEDED[fact.symbol_kind]}"
        claims.append(_of_declaration("lead", fact, text))
    if claims:
        told = _where_it_is_used(imports, uses)
        first, lines = claims[0], (*claims[0].citations, *(fact.citation for fact in imports[:1]))
        texts = {"text": f"{first.text}. {told}", "unquoted": f"{first.unquoted}. {told}"}
        claims[0] = msgspec.structs.replace(first, citations=lines, **texts)
    return claims


def _where_it_is_used(imports: Sequence[CodeFact], uses: Sequence[CodeFact]) -> str:
    """Return how many files name it in code, and whether these are tests alone."""
    files = {fact.citation.file for fact in (*imports, *uses)}
    total = max([len(files), *(fact.of for fact in imports), *(fact.of for fact in uses)])
    if not total:
        return "No import that is called like it was found; a plugin, or a program that is run, needs none."
    many = f"{total} file{'s' if total > 1 else ''}"
    are_tests = total == len(files) and all(kind_of_path(file) == "test" for file in files)
    return f"It is {'imported' if imports else 'used'} in {many}{', of tests alone' if are_tests else ''}."


def _importers(imports: Sequence[CodeFact], told: Collection[str]) -> list[Claim]:
    """Return one entry for each file that imports it, but for those of which a use is told."""
    first: dict[str, CodeFact] = {}
    for fact in imports:
        first.setdefault(fact.citation.file, fact)
    claims = [_line("importer", fact, who=file) for file, fact in first.items() if file not in told]
    total = max([len(first), *(fact.of for fact in imports)]) if claims else 0
    return with_total(claims[:MAX_IMPORTERS], total)


def _of_declaration(role: ClaimRole, fact: CodeFact, text: str) -> Claim:
    quote = fact.citation.quote.strip()
    told = f"{text}: {code_span(quote)}"
    return Claim(role, told, (fact.citation,), subject=fact.name, quotes=(quote,), unquoted=text)


def _line(role: ClaimRole, fact: CodeFact, *, who: str = "", used: str = "") -> Claim:
    named = code_span(who or fact.name or fact.citation.file)
    text = f"{named}: {code_span(fact.citation.quote.strip())}"
    return Claim(role, text, (fact.citation,), subject=fact.name, used=used)
