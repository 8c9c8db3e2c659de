"""Reads questions that are answered by yes or no: «Can I export the results as CSV?». Pure text analysis."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from runtime.codebase.files.words import index_terms, query_terms

MAX_CLAUSE_CHARS = 400
# With more informative terms a question asks how something behaves, not whether there is something.
MAX_FEATURE_TERMS = 4
# How a question asks for what can be done; none of it says what.
GENERIC = frozenset(
    index_terms("possible possibility option flag setting switch parameter way able allow allowed supported").split()
)
# How a question asks whether there is something.
_OF_ANYTHING = frozenset(index_terms("something way kind available offer provide speak").split())

_POLAR = re.compile(
    r"\W*+(?:(?:and|but|or|so|then|also)\W++)*+(?:is|are|does|do|can|could|will|has|have|may|must)\s++"
    r"(?P<subject>(?:it\s++(?:possible|able|allowed)|there)\b|[\w'`]++)(?P<rest>[^?]*+)\?*+\W*+",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BY_DEFAULT = re.compile(
    r"\b(?:(?P<on>on|enabled|active|activated|turned on|switched on)|(?P<off>off|disabled|inactive|turned off"
    r"|switched off))\s++by\s++default\W*+$",
    re.IGNORECASE,
)
_USER = re.compile(r"(?:i|we|you|one|users?|it\s+(?:possible|able|allowed)|there)", re.IGNORECASE)
_WHOLE = re.compile(r"(?:it|this)", re.IGNORECASE)
_CAN = re.compile(r"\W*+(?:(?:and|but|or|so|then|also)\W++)*+(?:can|could)\b", re.IGNORECASE)
_OF_BEHAVIOUR = re.compile(
    r"\b(?:or|unless|whether|how|why|what|instead|rather|otherwise|anyway|really|still|already|by default)\b",
    re.IGNORECASE,
)
_OFFERED = re.compile(r"\b(?:supported|possible|allowed|available)\W*+$", re.IGNORECASE)
# What can be done to a thing is done by the user.
_PASSIVE = re.compile(r"\W*+(?:\w++\W++){0,3}?(?:can|could|may)\s[^?]{1,120}?\sbe\s(?P<done>\w++)", re.IGNORECASE)
# What is not said of a thing plainly: alternatives, and what points to another sentence.
_UNDECIDED = re.compile(
    r"\b(?:or|not|never|no|none|nothing|nobody|without|unless|if|when|while|whether|how|what|which|who|where|why|it|its"
    r"|this|that|these|those|they|them|their|so|instead|rather|otherwise|anyway|really|mistake|bug)\b|n't\b",
    re.IGNORECASE,
)


class PolarClause(msgspec.Struct, frozen=True):
    """Holds what a question asks to be confirmed: its informative terms in order, without those that ask.

    `deed`: the term for what the user would do, where it asks whether that can be done; terms may stand in any order
    then. `default`: whether it asks that something is on, or off, by default.
    """

    text: str
    terms: tuple[str, ...]
    deed: str = ""
    default: Literal["on", "off"] | None = None


def feature_terms(question: str) -> tuple[str, ...]:
    """Return the informative terms of a question whether there is a feature: «Does it support proxies?»; else none.

    It is one short plain sentence about the whole or its users, or about what is supported or can be done.
    """
    text = question.strip()
    asked = _POLAR.fullmatch(text) if len(text) <= MAX_CLAUSE_CHARS and len(_SENTENCE_END.split(text)) == 1 else None
    if asked is None or _OF_BEHAVIOUR.search(asked["rest"]):
        return ()
    is_of_whole = _WHOLE.fullmatch(asked["subject"]) or _USER.fullmatch(asked["subject"])
    if not (is_of_whole or _CAN.match(text) or _OFFERED.search(asked["rest"])):
        return ()
    terms = [term for term in query_terms(text).counts if term not in GENERIC]
    return tuple(term for term in terms if term not in _OF_ANYTHING) if len(terms) <= MAX_FEATURE_TERMS else ()


def polar_clause(part: str) -> PolarClause | None:
    """Return what the last sentence of a part of a question asks to be confirmed; None unless it plainly does."""
    text = _SENTENCE_END.split(part.strip())[-1]
    asked = _POLAR.fullmatch(text) if len(text) <= MAX_CLAUSE_CHARS else None
    if asked is None:
        return None
    by_default = _BY_DEFAULT.search(text)
    default: Literal["on", "off"] | None = None
    if by_default is not None:
        default = "on" if by_default["on"] else "off"
    elif _UNDECIDED.search(f"{asked['subject'] if not _USER.fullmatch(asked['subject']) else ''} {asked['rest']}"):
        return None
    terms = tuple(term for term in query_terms(text).counts if term not in GENERIC)
    passive = _PASSIVE.match(text)
    done = query_terms(passive["done"]).counts if passive is not None else terms
    is_of_user = passive is not None or _USER.fullmatch(asked["subject"]) is not None
    return PolarClause(text, terms, next(iter(done), "") if is_of_user else "", default)
