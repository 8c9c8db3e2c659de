"""Takes apart what a question asks all values of: an option by its name, or a thing by its words."""

from __future__ import annotations

import re
from typing import NamedTuple

from runtime.codebase.files.words import CODE_NOISE, STOP_WORDS, index_terms, stem
from runtime.codebase.resolution.default_values.word_sets import words

MAX_TERMS = 6
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]{0,60}")
_WORD = re.compile(r"[\w']+")
# Said of any question, but of these the members of a set may be called: «file types», «work modes».
_NOISE = (STOP_WORDS | CODE_NOISE) - words("file files work works code project use implementation implementations")


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


# Words for what any set holds, and words that say nothing of which one is meant.
OF_ANY_SET = _stems(
    """kind type value option choice variant possible available supported allowed different accepted
    predefined known item entry member constant enum flavour flavor"""
)
# What the members of a set are called, where the set itself is called after what it is about: «compression modes».
OF_MEMBERS = _stems("mode level method format style strategy algorithm policy behavior behaviour scheme setting")


class AskedChoices(NamedTuple):
    """Says what all values are asked of.

    `option`: its name without dashes, empty for a thing; `terms`: those that must be met, in order, the last of which
    is the word for a member; `beside`: those that any set may have; `is_value_of`: whether the thing is named whose
    values are asked for, «values of X», rather than the values, «log levels».
    """

    text: str
    option: str
    terms: tuple[str, ...]
    beside: frozenset[str]
    is_value_of: bool = False


def asked_choices(query: str) -> AskedChoices:
    """Take a query apart: `--style`, `compression modes`, `values of SameSite`."""
    found = _OPTION.search(query)
    rest = query.strip().removeprefix("values of ")
    if found is not None:
        return AskedChoices(query, found.group().lstrip("-"), (), frozenset())
    is_value_of = rest != query.strip()
    words = [word for word in _WORD.findall(rest)[:MAX_TERMS] if word.lower() not in _NOISE]
    # A compound is met by its parts: `SameSite`, `log_level`.
    expanded = [own.split() for word in words if (own := index_terms(word))]
    terms = list(dict.fromkeys(term for parts in expanded for term in parts[1 if len(parts) > 1 else 0 :]))[:MAX_TERMS]
    needed = [term for term in terms if term not in OF_ANY_SET]
    beside = frozenset(terms).difference(needed) if needed else frozenset[str]()
    return AskedChoices(query, "", tuple(needed or terms), beside, is_value_of)
