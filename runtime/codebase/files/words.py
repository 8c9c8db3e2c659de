"""Splits code and prose into terms, so that a question matches the identifiers that it mentions.

`index_terms("getUserNames")` returns `getusernames get user name`: the whole identifier (its parts joined, so that
`get_user_names` matches it) and its parts, each lightly stemmed. What is written with its version, such as «HTTP/3» and
«TLS 1.3», is one term as well (`http3`, `tls13`). `query_terms` splits a question the same way, without
stop words, and lists the words that were written as identifiers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_WORD_CHARS = 80
_MAX_CACHED_WORDS = 200_000
_MAX_CACHED_STEMS = 32_768

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
# «HTTP/3», «SHA-256», «TLS 1.3», «TLSv1.3», «Python 3.12»: a word with a version behind a mark, a blank or a «v».
_VERSIONED = re.compile(
    r"\b(?:([A-Za-z]{2,20})[/-]v?|([A-Z][A-Za-z]{1,20}) v?)(\d{1,5}(?:\.\d{1,3}){0,2})\b(?!\.?\w)"
    r"|\b([A-Z]{2,20})v?(\d{1,3}(?:\.\d{1,3}){1,2})\b(?!\.?\w)"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|#)[A-Za-z_][A-Za-z0-9_]*)*")

# Words without information about which code is meant: too frequent in code to be worth indexing.
_CODE_NOISE = "self this the return def if of to in is and for not none null true false"
CODE_NOISE: frozenset[str] = frozenset(_CODE_NOISE.split())

_QUESTION_NOISE = """
    a about all also an any are as at be because been before being between both but by can could did do does doing
    done each even ever every from get gets got had has have having here how however i into it its itself just let
    like may me might more most much must my new no nor now off on once one only or other our out over own please
    same shall she should since so some such than that their them then there these they those through thus too under
    until up upon us use used uses using very via was way we were what when where whether which while who whom whose
    why will with within without would you your pls plz thanks thx kindly find show tell explain describe give
    happen happens work works code file files implement implemented implementation implementations repository
    project defined specific"""
STOP_WORDS: frozenset[str] = CODE_NOISE | frozenset(_QUESTION_NOISE.split())

_SUFFIXES: tuple[tuple[str, str, int], ...] = (
    ("ization", "iz", 3),
    ("isation", "is", 3),
    ("ating", "", 4),
    ("ation", "", 4),
    ("ated", "", 4),
    ("ator", "", 4),
    ("ate", "", 4),
    ("ing", "", 3),
    ("ied", "y", 3),
    ("ed", "", 3),
    ("ion", "", 4),
    ("er", "", 4),
    ("or", "", 4),
    ("ment", "", 4),
    ("able", "", 4),
    ("ally", "", 4),
    ("al", "", 5),
    ("ly", "", 4),
    ("e", "", 3),
)


def stem(word: str) -> str:
    """Stem a lower-case English word: strip its plural and a common ending (`routing`, `routes`, `route` agree)."""
    if len(word) < 4 or not word.isascii():
        return word
    return _stemmed(word) if len(word) > MAX_WORD_CHARS else _known_stem(word)


def _stemmed(word: str) -> str:
    word = _singular(word)
    for suffix, instead, least_chars in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= least_chars:
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        return word[:-1]
    return word


_known_stem = functools.lru_cache(maxsize=_MAX_CACHED_STEMS)(_stemmed)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def split_identifier(identifier: str) -> list[str]:
    """Return the lower-case parts of a camelCase, snake_case or mixed identifier, in order."""
    return [part.lower() for part in _PART.findall(identifier)]


def _expand(word: str) -> str:
    if len(word) > MAX_WORD_CHARS:
        return ""
    parts = split_identifier(word)
    if len(parts) <= 1:
        lowered = parts[0] if parts else ""
        return "" if len(lowered) < 2 or lowered in CODE_NOISE else stem(lowered)
    kept = [stem(part) for part in parts if len(part) > 1 and part not in CODE_NOISE]
    return " ".join(["".join(parts), *kept])


class _Expansions(dict[str, str]):
    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        terms = self[word] = _expand(word)
        return terms


_expansions = _Expansions()


def index_terms(text: str) -> str:
    """Return all terms of a text for the full-text index, separated by blanks, in order, repeats included.

    Those of words with their version stand behind all others.
    """
    terms = " ".join(filter(None, map(_expansions.__getitem__, _WORD.findall(text))))
    versioned = _VERSIONED.findall(text)
    return terms if not versioned else " ".join((terms, *map(_versioned_term, versioned)))


def versioned_words(text: str) -> list[tuple[str, str]]:
    """Return the words of a text that stand with a version, as written and as terms: («TLS 1.3», `tls13`)."""
    return [(found.group(), _versioned_term(found.groups())) for found in _VERSIONED.finditer(text)]


def _versioned_term(groups: Sequence[str | None]) -> str:
    return "".join(filter(None, groups)).lower().replace(".", "")


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Holds the terms of a question: the number of occurrences of each, and the identifiers as written."""

    counts: dict[str, int]
    identifiers: tuple[str, ...]


def looks_like_identifier(word: str) -> bool:
    """Return True for a word that is not prose: with an underscore, a dot, `::` or inner capitals; `URLs` is prose."""
    if "_" in word or "." in word or "::" in word:
        return True
    is_acronym = word.isupper() or (word.endswith("s") and len(word) > 2 and word[:-1].isupper())
    return any(c.isupper() for c in word[1:]) and not is_acronym


def query_terms(text: str) -> QueryTerms:
    """Return the terms of a question to look up; `counts` is empty if it has only stop words."""
    counts: dict[str, int] = {}
    for word in _WORD.findall(text):
        if word.lower() in STOP_WORDS:
            continue
        terms = _expansions[word].split()
        # The parts of a compound may be common words again; the stem of a word is not: `theme`, `worker`, `getter`.
        for term in terms if len(terms) == 1 else [term for term in terms if term not in STOP_WORDS]:
            counts[term] = counts.get(term, 0) + 1
    for _, term in versioned_words(text):
        counts[term] = counts.get(term, 0) + 1
    return QueryTerms(counts, tuple(_identifiers(text)))


def _identifiers(text: str) -> Iterable[str]:
    words = (found.group().rstrip(".") for found in _IDENTIFIER.finditer(text))
    return dict.fromkeys(word for word in words if looks_like_identifier(word))
