"""Answers a question by yes or no where what was found proves it, and by neither elsewhere.

Two things prove it: a sentence of a document, help text or documentation string that has every word of what is asked,
in its order, plainly affirmed or plainly denied; and the proven value of the one switch that the question asks about.
The verdict names its source and quotes it. Sentences that disagree prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import ValueNote
from actors.capabilities.code_analysis.question.polar import PolarClause
from runtime.codebase.citation import Citation
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.codebase.search.prose.sentences import split_sentences

Verdict = Literal["Yes", "No"]

# Fewer words say too little of a thing to be found in one sentence by more than chance.
LEAST_TERMS = 3
MAX_SENTENCE_WORDS = 40
SAYING = frozenset({"document", "help", "docstring"})

# A sentence that says so under a condition, of another time, or of something else than it names proves nothing.
_HEDGE = re.compile(
    r"\b(?:if|unless|except|only|when|whenever|until|while|may|might|could|should|would|instead|rather|otherwise|without"
    r"|but|however|although|though|example|e\.g|todo|fixme|deprecated|removed|previously|formerly|used to|planned"
    r"|future|were|was|had|whether|either|neither|nor|no|none|nothing|hardly|rarely|sometimes|most|some|partly"
    r"|experimental|before|after|unable|prevents?|avoids?|forbidden|impossible|plan\w*|wants?|wish\w*|goals?|ideas?"
    r"|propos\w+|welcome|contribut\w+|issues?|bugs?)\b|\?",
    re.IGNORECASE,
)
# What can be done, or is to be set, is not what is done.
_ABILITY = re.compile(
    r"\b(?:can|able|allow\w*|lets?|enabl\w+|sets?|configur\w+|pass\w*|uses?|using|options?|flags?|supports?|needs?|must"
    r"|please|calls?|to make)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:not|never|cannot|no longer)\b|n['’]t\b", re.IGNORECASE)
# Words that change what is asked; a sentence must have those of the question, and no others.
_EXTENT = re.compile(
    r"\b(?:all|always|any|both|each|every|entirely|automatically|manually|again|also|at once|first|last|more|less|least"
    r"|same|still|yet|too|twice|once|between|several|multiple|single)\b",
    re.IGNORECASE,
)
# What tells users that they can do something.
_GRANTS = re.compile(
    r"\byou\s(?:can|may|could)\b|\b(?:can|may)\s(?:also\s)?be\b|\b(?:cannot|can't|not)\sbe\b|\byou\s(?:cannot|can't)\b"
    r"|\b(?:allow|let|enable|permit)s?\s(?:you|users?|one)\b|\b(?:options?|flags?|switch(?:es)?|supports?)\b|(?<!\w)--\w",
    re.IGNORECASE,
)
_BY_ANOTHER = re.compile(r"\bby\s(?:the|an?|its)\b", re.IGNORECASE)
# A denied word stands at most so many words behind what denies it.
_MAX_BEHIND = 2
_TRUTH = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
# A switch with such a word in its name is on where what it names is off.
_REVERSES = frozenset(
    {"no", "not", "non", "disable", "disabled", "skip", "without", "ignore", "off", "hide", "suppress"}
)


def verdict_claims(
    clauses: Sequence[PolarClause],
    facts: Sequence[CodeFact],
    parts_of: Callable[[str], tuple[int, ...]] = lambda clause: (),
) -> list[Claim]:
    """Return a claim for each clause that a sentence decides, in the order asked.

    `parts_of` returns the numbers of the parts in which a clause of the question stands.
    """
    made = [(clause, _of_sentence(clause, facts)) for clause in clauses if clause.default is None]
    return [msgspec.structs.replace(claim, parts=parts_of(clause.text)) for clause, claim in made if claim is not None]


def with_verdicts(clauses: Sequence[PolarClause], values: Sequence[Claim], facts: Sequence[CodeFact]) -> list[Claim]:
    """Return the claims about values, of which those that decide what is on by default begin with «Yes» or «No»."""
    said = {note.name: verdict for clause in clauses for note, verdict in _of_values(clause, facts)}
    return [
        msgspec.structs.replace(claim, text=f"{said[claim.subject]}: {claim.text}") if claim.subject in said else claim
        for claim in values
    ]


def _of_sentence(clause: PolarClause, facts: Sequence[CodeFact]) -> Claim | None:
    """Return the verdict of the sentences that decide a clause, with the first of them; None if none does."""
    if len(clause.terms) < LEAST_TERMS:
        return None
    found = [(said, text, citation) for text, citation in _sentences(facts) if (said := says(clause, text)) is not None]
    if len({said for said, _, _ in found}) != 1:
        return None
    said, text, citation = found[0]
    return Claim("value", f"{said}, {code_span(citation.file)} says: «{text}»", (citation,), quotes=(text,))


def _sentences(facts: Sequence[CodeFact]) -> Iterator[tuple[str, Citation]]:
    for fact in facts:
        is_own = kind_of_path(fact.citation.file) in {"docs", "source"}
        if is_own and fact.kind == "passage" and fact.symbol_kind in SAYING:
            for sentence in split_sentences([fact.text], 1):
                if sentence.text in fact.text:
                    yield sentence.text, fact.citation


def says(clause: PolarClause, sentence: str) -> Verdict | None:
    """Return whether a sentence plainly affirms or denies a clause; None if it does neither."""
    words = sentence.split()
    if len(words) > MAX_SENTENCE_WORDS or _HEDGE.search(sentence) or _extent(sentence) != _extent(clause.text):
        return None
    by_word = [index_terms(word).split() for word in words]
    if not (_grants(clause, sentence, by_word) if clause.deed else _tells_deeds(clause, sentence)):
        return None
    places = {term: next((at for at, own in enumerate(by_word) if term in own), None) for term in clause.terms}
    at = [place for place in places.values() if place is not None]
    if len(at) < len(clause.terms) or (not clause.deed and at != sorted(at)):
        return None
    denials = [number for number, word in enumerate(words) if _DENIAL.search(word)]
    if not denials:
        return "Yes"
    is_denied = len(denials) == 1 and any(0 < place - denials[0] <= _MAX_BEHIND for place in at)
    return "No" if is_denied else None


def _grants(clause: PolarClause, sentence: str, by_word: Sequence[Sequence[str]]) -> bool:
    """Return whether a sentence speaks of what users can do: it says so, or begins with the deed."""
    is_said = _GRANTS.search(sentence) is not None or (bool(by_word) and clause.deed in by_word[0][:1])
    return is_said and not _BY_ANOTHER.search(sentence)


def _tells_deeds(clause: PolarClause, sentence: str) -> bool:
    """Return whether a sentence says what is done, not what can be."""
    return not _ABILITY.search(sentence) or _ABILITY.search(clause.text) is not None


def _extent(text: str) -> set[str]:
    return {word.lower() for word in _EXTENT.findall(text)}


def _of_values(clause: PolarClause, facts: Sequence[CodeFact]) -> Iterator[tuple[ValueNote, Verdict]]:
    """Yield the value by which a clause is decided: the only one that it asks for, if that is the value of a switch."""
    notes = [fact.value for fact in facts if fact.value is not None and fact.value.part in clause.text]
    if clause.default is None or len(notes) != 1 or notes[0].value is None or notes[0].conditions:
        return
    value = _TRUTH.get(notes[0].value.strip("\"'").lower())
    if value is not None and _REVERSES.isdisjoint(split_identifier(notes[0].name)):
        yield notes[0], "Yes" if value == (clause.default == "on") else "No"
