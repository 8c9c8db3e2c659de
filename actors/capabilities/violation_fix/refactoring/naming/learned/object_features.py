"""Spells out what tells whether a noun is what a block's name would speak of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from actors.capabilities.violation_fix.refactoring.naming.name_words import noun_quality, singular, words_of


def object_features(
    noun: str, places: Collection[str], candidates: Mapping[str, Collection[str]], group: str
) -> frozenset[str]:
    """Return the features of one candidate among all, for a name with a verb of some group."""
    return frozenset(_features(noun, places, candidates, group))


def _features(
    noun: str, places: Collection[str], candidates: Mapping[str, Collection[str]], group: str
) -> Iterator[str]:
    words = words_of(noun)
    own = {singular(word) for word in words}
    yield f"words {len(words)}"
    yield f"quality {noun_quality(noun)}"
    yield f"candidates {min(len(candidates) // 4, 5)}"
    yield f"places {min(len(places), 4)}"
    yield "several" if words and singular(words[-1]) != words[-1] else "one"
    for place in places:
        yield place
        yield f"{group}: {place}"
    for other, places_of_other in candidates.items():
        theirs = {singular(word) for word in words_of(other)}
        if other != noun and own & theirs:
            kind = "within" if own < theirs else "around" if own > theirs else "beside"
            yield from (f"{kind} {place}" for place in places_of_other)
