"""What is asked to be done to what: «How are passwords hashed?» asks for the code that hashes, not for a thing.

Read off the question and off what a place says of itself; pure text analysis.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.search.query_expansion import base_form

_PASSIVE = re.compile(
    r"^\W*(?:how|where)\s+(?:is|are|was|were)\b(.*?)(?:\band (?:how|where|when|what|who)\b|$)", re.IGNORECASE
)
_ACTIVE = re.compile(r"^\W*how\s+(?:does|do)\b.*?\b(match|route|dispatch|resolve)\b(?!s?\s+work)(.*)", re.IGNORECASE)
_PARTICIPLE = re.compile(
    r"\b(?:\w{2,}ed|chosen|built|found|sent|kept|bound|read|written|run|made|held|drawn|split|thrown|hidden|shown|begun"
    r"|broken|stopped)\b",
    re.IGNORECASE,
)
# What sets up something for later, and does not do it: «registers a route that matches …».
_SETS_UP = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:registers?|adds?|appends?|declares?|defines?|sets|configures?|is a shortcut|is an alias)\b",
    re.IGNORECASE,
)
_SETS = re.compile(r"\W*(?:\w+\W+){0,2}?(?:sets|configures)\b", re.IGNORECASE)
_SETTING_UP = frozenset(query_terms("register add append declare define set configure").counts)


# A method that gives back its own object was told something for later: `fn threads(&mut self, n: usize) -> &mut Self`.
_RETURNS = re.compile(
    r"\)\s*(?:->|:)?\s*(?:[&*]\s*(?:mut\s+)?)?[\"']?(Self|this|[A-Z]\w*)[\"']?\s*(?:[:{].*)?$", re.DOTALL
)
_TYPE_AHEAD = re.compile(r"(?:public\s+|protected\s+|final\s+|static\s+)*([A-Z]\w*)\s+$")
_ASKS = re.compile(r"_*(?:is|has|can|check|should|needs)(?=_|[A-Z])")


class Deed(msgspec.Struct, frozen=True):
    """The verb, in its base form, and the other words of a question that asks how, or where, something is done.

    Both as stems of the index.
    """

    verb: str
    others: frozenset[str]


def deed_of(question: str) -> Deed | None:
    """What is asked to be done; None for a question of another form."""
    active = _ACTIVE.match(question)
    if active is not None:
        return Deed(index_terms(active.group(1)), frozenset(query_terms(active.group(2)).counts))
    passive = _PASSIVE.match(question)
    if passive is None:
        return None
    terms = query_terms(passive.group(1)).counts
    for word in reversed(_PARTICIPLE.findall(passive.group(1))):
        verb = index_terms(word)
        if verb in terms:
            return Deed(base_form(verb), frozenset(terms) - {verb})
    return None


def is_of_something_else(deed: Deed, name: str, meets: Callable[[str], float]) -> bool:
    """True for what bears the verb in its name and has none of the other words: it does so to something else."""
    is_done = deed.verb in index_terms(name.rpartition(".")[2]).split()
    return is_done and bool(deed.others) and not any(meets(word) for word in deed.others)


def gives_itself_back(name: str, signature: str) -> bool:
    """True for a method of a builder, which takes a value and gives its own object back."""
    owner = name.rpartition(".")[0].rpartition(".")[2]
    before, _, after = signature.partition(f"{name.rpartition('.')[2]}(")
    found = _TYPE_AHEAD.match(before) or _RETURNS.search(after)
    return bool(owner) and found is not None and found.group(1) in {owner, "Self", "this"}


def sets_up(deed: Deed, docstring: str) -> bool:
    """True for a place that says of itself that it prepares something, where the question asks for what does it."""
    return deed.verb not in _SETTING_UP and _SETS_UP.match(docstring) is not None


def says_it_sets(docstring: str) -> bool:
    """True for a place that says of itself that it sets something: «KeyDelimiter sets the delimiter»."""
    return _SETS.match(docstring) is not None


def does_all(deed: Deed, meets: Callable[[str], float]) -> float:
    """How well a place meets the verb together with the other words, 0 to 1: 0 when one side is not met at all."""
    if not deed.others:
        return 0.0
    others = sum(meets(word) for word in deed.others) / len(deed.others)
    return meets(deed.verb) * others


def is_called(deed: Deed, name: str) -> bool:
    """True for what is called like the verb and nothing else: `Route.matches`."""
    return index_terms(name.rpartition(".")[2]).split() == [deed.verb]


def merely_asks(deed: Deed, name: str) -> bool:
    """True for a name that asks whether something is so (`is_nested`, `check_hash`), where the doing is asked for."""
    found = _ASKS.match(name.rpartition(".")[2])
    return found is not None and deed.verb not in index_terms(found.group().strip("_")).split()
