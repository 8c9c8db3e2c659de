"""Writes who uses a thing: its callers and importers, and its tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.mechanism import overlap
from actors.capabilities.code_analysis.answers.named_types.members import TYPE_KINDS
from actors.capabilities.code_analysis.answers.wording import (
    caller_claim,
    importer_claim,
    likely_test_claim,
    mention_claim,
    test_claim,
    test_entity_claim,
    unproven_claim,
)
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to
from actors.capabilities.code_analysis.evidence.facts import FITTING, CodeFact
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.relevance import Entity
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.codebase.search.telling_lines import imports_or_exports
from runtime.primitives.dotted_names import last_part

_TEST_WORDS = frozenset({"test", "tests", "spec", "specs"})
MAX_CALLERS = 8
ENOUGH_CALLERS = 3
MAX_IMPORTERS = 5
MAX_TESTS = 4
MAX_TESTS_ASKED_FOR = 10
# A test that nothing proves to be one of it has so many words of the question in its name.
MIN_SHARED = 2
# Members whose uses are calls: another line with their name may mean another object's.
CALLED_KINDS = frozenset({"method", "constructor", "function", "prototype"})


def usage(evidence: Evidence) -> list[Claim]:
    """Return claims about callers, else importers, and what is not known of further calls."""
    if evidence.is_borne_by_tests_alone:
        return _listed(mention_claim, lines_that_may_use(evidence)[1:], MAX_CALLERS)
    callers = [fact for fact in evidence.about_leads("caller") if not fact.is_test]
    others = [fact for fact in evidence.about_leads("reference") if not fact.is_test and is_use(fact)]
    others = [fact for fact in others if not any(overlap(fact.citation, e.citation) for e in evidence.leads)]
    callers, others = _by_others(evidence, callers), _by_others(evidence, others)
    is_of_member = any("." in entity.name and entity.kind in CALLED_KINDS for entity in evidence.leads)
    if len(callers) < ENOUGH_CALLERS and not is_of_member:
        callers += others
    if any(entity.kind in (*TYPE_KINDS, "module") for entity in evidence.leads):
        # A line that names a type in the place of a call, such as `include Capture`, uses it.
        callers += _by_others(evidence, [fact for fact in evidence.about_leads("mention") if not fact.is_test])
    claims = _listed(caller_claim, callers, MAX_CALLERS)
    if is_of_member:
        # A property is read and not called: whose it is on an object of unknown type, nobody knows either.
        named = evidence.about_leads("mention") or ([] if callers else others)
        claims += _listed(mention_claim, named, MAX_CALLERS - len(claims))
    if not is_of_member:  # an import names the type at most, or another one of the same module
        claims = claims or _listed(importer_claim, evidence.about_leads("importer"), MAX_IMPORTERS)
    # Nobody says that a thing is not used while a call may mean it.
    defined = next((fact for fact in evidence.about_leads("definition") if fact.unproven), None)
    if defined is not None:
        claims.append(unproven_claim(defined, defined.unproven, evidence.about_leads("namesake"), evidence.leads))
    return claims


def _by_others(evidence: Evidence, uses: list[CodeFact]) -> list[CodeFact]:
    """Return the uses of a type but for those within it, unless there are no others and uses are what is asked for."""
    types = [entity.name for entity in evidence.leads if entity.kind in TYPE_KINDS]
    others = [fact for fact in uses if not any(_is_own(fact, name) for name in types)]
    return others if others or not kind_of(evidence.question).of_uses else uses


def _is_own(fact: CodeFact, name: str) -> bool:
    """Return whether a use stands within the type of a name, or begins a part of it, as `impl Depot {` does."""
    begins = rf"\s*(?:unsafe\s+)?impl\b(?:<[^>]*>)?\s*(?:.*\bfor\s+)?{re.escape(last_part(name))}\b"
    return fact.name.startswith(f"{name}.") or re.match(begins, fact.citation.quote) is not None


def _listed(worded: Callable[[CodeFact], Claim], facts: Sequence[CodeFact], most: int) -> list[Claim]:
    """Return claims about the first facts, which say how many there are in all; those worded alike count once."""
    claims = list(dict.fromkeys(map(worded, facts)))
    return cut_to(claims, most, more=any(fact.more for fact in facts))


def lines_that_may_use(evidence: Evidence) -> list[CodeFact]:
    """Return the lines outside tests that have the name, calls of it before others: of what, nobody knows."""
    kinds = ("caller", "mention", "reference")
    found = [fact for kind in kinds for fact in evidence.about_leads(kind) if not fact.is_test and is_use(fact)]
    each = list({fact.place: fact for fact in found}.values())
    return sorted(each, key=lambda fact: not _calls(fact))


def _calls(fact: CodeFact) -> bool:
    name = re.escape(last_part(fact.about))
    return re.search(rf"(?<!\w){name}\s*(?:\?\.)?\(", fact.citation.quote) is not None


def tests_of(evidence: Evidence) -> list[Claim]:
    """Return one line of each test of it; more, and tests named after it, when the question asks for tests.

    Where it asks for those of something in words, the tests that fit it best are told, and those of what leads only if
    the question has a word of its name: else it may be something else.
    """
    if evidence.is_borne_by_tests_alone:
        return []
    likely = [likely_test_claim(fact) for fact in evidence.of("test") if fact.symbol_kind == FITTING]
    if likely:
        return likely
    is_led_elsewhere = _is_led_elsewhere(evidence)
    each: dict[tuple[str, str], CodeFact] = {}
    for fact in sorted(evidence.about_leads("test"), key=lambda fact: (not _is_named_after(fact), not is_use(fact))):
        if fact.symbol_kind != "file" and not is_led_elsewhere:
            each.setdefault((fact.citation.file, fact.name), fact)
    if not evidence.question.asks_for_tests:
        return _listed(test_claim, list(each.values()), MAX_TESTS) or _unproven_tests(evidence)
    named = [entity for entity in evidence.entities if entity.is_test and entity.name and entity.kind != "module"]
    fitting = [entity for entity in named if _is_test_of(entity, evidence)]
    known = {(fact.citation.file, fact.name) for fact in each.values()}
    more = [test_entity_claim(entity) for entity in fitting if (entity.citation.file, entity.name) not in known]
    is_told = each or more or is_led_elsewhere
    files = [] if is_told else [fact for fact in evidence.of("test") if _is_called_like_its_file(fact, evidence)]
    claims = list(dict.fromkeys([*map(test_claim, each.values()), *more, *map(test_claim, files)]))
    is_cut = any(fact.more for fact in each.values())
    unproven = [] if is_led_elsewhere else _unproven_tests(evidence)
    return cut_to(claims, MAX_TESTS_ASKED_FOR, more=is_cut) or unproven


def _is_led_elsewhere(evidence: Evidence) -> bool:
    """Return whether a question in words asks for tests, and has no word of the name of what leads."""
    question = evidence.question
    if not question.asks_for_tests or question.identifiers or question.paths:
        return False
    names = {term for lead in evidence.leads if lead.name for term in _own_terms(lead.name)}
    return bool(evidence.leads) and names.isdisjoint(question.terms)


def _is_test_of(entity: Entity, evidence: Evidence) -> bool:
    """Return whether a test is called after what is asked about: by all words of a name, where the question has one.

    Else by all that what leads has of the question: `test_once_command` is no test of `watch_query`, the watch command.
    Where that has none of it, by two words: «catch» alone makes `test_catch_signal` no test of anything that is asked.
    """
    question = evidence.question
    has = set(index_terms(last_part(entity.name)).split())
    if question.identifiers:
        return any(has.issuperset(_own_terms(name)) for name in question.identifiers)
    shared = [set(question.terms).intersection(_own_terms(lead.name)) for lead in evidence.leads if lead.name]
    told = [terms for terms in shared if terms]
    if not told:
        return len(has.intersection(question.terms)) >= MIN_SHARED
    return all(has.issuperset(terms) for terms in told)


def _own_terms(name: str) -> list[str]:
    """Return the terms of the last part of a name, but for the one that they make together."""
    terms = index_terms(last_part(normal_name(name))).split()
    return terms[1:] or terms


def _is_called_like_its_file(fact: CodeFact, evidence: Evidence) -> bool:
    """Return whether a file of tests is called like one where what leads is defined, or the other way round."""
    if fact.symbol_kind != "file":
        return False
    stem = _stem(fact.citation.file)
    leads = [_stem(entity.citation.file) for entity in evidence.leads]
    return any(lead and stem and (lead in stem or stem in lead) for lead in leads)


def _stem(path: str) -> str:
    """Return the name of a file without its ending and what only says that it has tests."""
    words = split_identifier(posixpath.basename(path).partition(".")[0])
    return "".join(word for word in words if word not in _TEST_WORDS)


def _unproven_tests(evidence: Evidence) -> list[Claim]:
    """Return how many calls in tests may mean it: nobody says that it is not tested while there are any."""
    defined = next((fact for fact in evidence.about_leads("definition") if fact.unproven_in_tests), None)
    return [] if defined is None else [unproven_claim(defined, defined.unproven_in_tests, (), ())]


def _is_named_after(fact: CodeFact) -> bool:
    """Return whether the name of a test, or of its file, contains each word of its subject."""
    wanted = set(index_terms(fact.about.rpartition(".")[2]).split())
    file = fact.citation.file.rpartition("/")[2]
    return bool(wanted) and any(
        wanted <= set(index_terms(text).split()) for text in (fact.name, file.replace(".", " "))
    )


def is_use(fact: CodeFact) -> bool:
    """Return whether a line uses the name: comments, imports and exports do not.

    In some languages an import names another thing than the one that is defined here: `extern crate pool;`.
    """
    line = fact.citation.quote.lstrip()
    return not line.startswith(("#", "//", "*", "/*")) and not imports_or_exports(line)
