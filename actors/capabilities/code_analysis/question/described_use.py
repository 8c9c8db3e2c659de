"""Finds the definition whose uses a question asks for in whatever words: «Is the man page flag still checked anywhere?»

Who asks whether something is used has a definition in mind, and tells it by the words of its name. What happens when
it is used is another question.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.described.described_definitions import described_definitions

MAX_QUESTION_CHARS = 500
# Of what others wrote, what is described less well is as often something else: of nine below, seven were wrong.
LEAST_SCORE, LEAST_PIECES = 2.85, 200
_DONE = (
    r"(?:used?|using|unused|needed|called|read|referenced|checked|evaluated|raised|thrown|returned|constructed"
    r"|instantiated|created|built|generated|registered|imported|invoked|implemented|necessary|alive)"
)
_DOES = (
    r"(?:us(?:es?|ing)|calls?|calling|reads?|reading|needs?|needing|references?|referencing|checks?|checking|raises?"
    r"|raising|throws?|throwing|returns?|returning|constructs?|constructing|instantiates?|invokes?|invoking|depends? on"
    r"|registers?|touch(?:es)?|looks? at|implements?|imports?|subclass(?:es)?|mak(?:es?|ing) use)"
)
_ANY = (
    r"(?:any(?:thing|body|one)|some(?:thing|body|one)|nothing|nobody|no one|who|who else|what (?:code|else)|which \w+"
    r"|do (?:we|they|you))"
)
_IT = r"(?:it|this|that|they|these|those|one)"
_ASKS_FOR_USES = re.compile(
    rf"\b(?:still|ever|actually|really) (?:\w+ )?(?:{_DONE}|{_DOES})\b"
    rf"|\b{_ANY}\b(?: \w+){{0,4}}? {_DOES}\b|^\W*what {_DOES}\b|[.?!] what {_DOES}\b"
    rf"|\bwhich \w+ (?:is|are|gets?) {_DONE}\b"
    rf"|\b{_DONE} (?:\w+ ){{0,4}}?(?:or somewhere|anywhere|somewhere|any ?more|at all|outside|or (?:not|dead)"
    r"|(?:by|for) (?:any|no|some)\w*)\b"
    rf"|\b(?:callers?|usages?|users) of\b|\bwhere (?:is|are|do|does) .{{1,80}} {_DONE}\b"
    rf"|\b(?:is|are) {_IT} (?:\w+ )?{_DONE}(?: by\b|\W*(?:$|[,?]))|\b(?:is|it's|is it) unused\b"
    r"|\bdead code\b|\bmakes? use of\b|\bsafe to (?:delete|remove|drop)\b"
    r"|\b(?:can|could|may|should) (?:i|we|it|this|that) (?:be |just |safely )*(?:delete|remove|drop|go)d?\b",
    re.IGNORECASE,
)
# Who asks for what happens when a thing is used says when; «the helper that decides if we warn» describes the thing.
_OF_BEHAVIOUR = re.compile(
    rf"^\W*(?:so |and |but )?(?:how|why|when|if)\b"
    rf"|\b(?:{_DONE}|{_DOES})\b(?:(?!\b(?:decid|check|tell|say|know|determin|ask)\w* (?:if|when)\b)[^.?!,;(])*?"
    r"\b(?:when|while|unless|instead of|during|if (?!nobody|nothing|no one|not\b|so\b|it is not|it isn't))\b",
    re.IGNORECASE,
)


def asks_for_uses(text: str) -> bool:
    """Return whether a question asks who uses something, or whether anything does, not what happens then."""
    cut = text[:MAX_QUESTION_CHARS]
    return _ASKS_FOR_USES.search(cut) is not None and _OF_BEHAVIOUR.search(cut) is None


def used_definition(index: IndexReader, question: Question) -> str | None:
    """Return the name of the definition whose uses a question asks for; None for most questions.

    It is the one name in the question, or that of the definition which its words describe; a whole one, with its owner,
    where that alone tells it from others.
    """
    kind = kind_of(question)
    if len(question.text) > MAX_QUESTION_CHARS or kind.of_requirements or _OF_BEHAVIOUR.search(question.text):
        return None
    asks = kind.of_uses and "usage" in (kind.added or ()) and not question.identifiers
    if not (asks or asks_for_uses(question.text)):
        return None
    if question.identifiers and question.paths:
        return None
    named = question.identifiers
    # The words of a name describe no member of it: «this DecayMap thing» is not its field `maps`.
    described = described_definitions(index, _without(question.text, named))
    # In a small repository no word is rare.
    least = LEAST_SCORE if index.chunk_count() >= LEAST_PIECES else 0.0
    found = [each.symbol for each in described if each.is_surely and each.score >= least]
    if named:
        # «the prefix constant on the SMTP class»: the name is that of its owner.
        members = [one for one in found if named[0] in one.owner.split(".")]
        return None if len(named) > 1 else _told(index, members[0]) if members else named[0]
    return _told(index, found[0]) if found else None


def _without(text: str, names: Sequence[str]) -> str:
    return functools.reduce(lambda rest, name: rest.replace(name, " "), names, text)


def definition_under_test(index: IndexReader, question: Question) -> str | None:
    """Return the name of the definition whose tests a question asks for by what it is and does; None for most.

    «the function that trims the log» is `trim_log`; tests of «a wrong host name» are not those of `host_name`, so that
    the question has to call the thing a function, a class or the like.
    """
    is_other = question.identifiers or question.paths or len(question.text) > MAX_QUESTION_CHARS
    if is_other or not kind_of(question).of_tests:
        return None
    found = described_definitions(index, question.text)
    return next((_told(index, each.symbol) for each in found[:1] if each.is_surely and each.is_of_sort), None)


def _told(index: IndexReader, symbol: SymbolRecord) -> str:
    """Return the name of a definition, with its owner where others bear the same."""
    bearers = {one.qualified_name for one in index.symbols_of_name(symbol.name)}
    return symbol.qualified_name if len(bearers) > 1 and symbol.owner else symbol.name
