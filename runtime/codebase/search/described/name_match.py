"""Measures how well a text describes a name: «the constant for the 334 prefix» is `_334_PREFIX`. Pure.

Who has a definition in mind and does not remember how it is written uses the words of its name, in any order and form,
sometimes written out (`incr` as «increment») or cut short, and often those of its class or file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.words import STOP_WORDS, split_identifier, stem

# What a name may have or lack without meaning another thing.
_MAY_LACK = (
    "a an and are as at be by can do does for from get has have if in into is it its my new no not of off on or own set"
    " should so that the this to was will with"
)
_WEAK = frozenset(_MAY_LACK.split())
# Any sentence has these: «is full» need not be `is_full`.
_ANYWHERE = "is are be was has have do does can will to the a an and of"
_OF_SENTENCES = frozenset(_ANYWHERE.split())
# What people say of any definition: it describes none by itself.
_OF_ANY = "use used using call called need needed read check exist handle do make"
_SAID_OF_ANY = frozenset(map(stem, _OF_ANY.split()))
# No name is described by these.
_PERSONS = "any anybody anyone anything anywhere somebody someone something somewhere nobody nothing everything"
_PRONOUNS = frozenset(_PERSONS.split())
# So many words a name counts for that is written as one word, and in the text as several.
WRITTEN_AS_ONE = 2
LEAST_WITH_ONE_MISSING = 3
LEAST_SHORT_CHARS = 3
# How much longer a word is than what stands for it.
LEAST_CUT_CHARS = 2
LEAST_BEGINNING_CHARS = 4
EXACT, CUT_SHORT = 1.0, 0.7
# What a word counts that a name may as well lack.
OF_WEAK = 0.3
_SAID = re.compile(r"(?P<mark>[.,;:!?()\"«»–—]*)[^\w.,;:!?()\"«»–—]*(?P<word>[A-Za-z0-9_]+)")
# What may stand ahead of any thing and tells none of the sort from another.
_OF_NO_SORT = "old little small big private public protected internal inner nested own single whole tiny special same"
_TELLS_NO_SORT = frozenset(f"{_OF_NO_SORT} first last static helper possible actual current existing only".split())
MAX_AHEAD = 3
_ANY_ONE = frozenset({"a", "an", "some", "several", "no", "each", "every", "which", "what"})
_WORD = re.compile(r"[A-Za-z]+|\d+")


@dataclass(frozen=True, slots=True)
class SaidWords:
    """Holds the words of a text as written and by their stems, each with its places; `begins`: places behind a mark."""

    words: tuple[str, ...]
    stems: Mapping[str, tuple[int, ...]]
    begins: frozenset[int]


def said_words(text: str) -> SaidWords:
    """Return the words of a text; those of identifiers in it one by one."""
    words: list[str] = []
    begins: set[int] = set()
    for found in _SAID.finditer(text):
        if found.group("mark"):
            begins.add(len(words))
        words += [part for part in split_identifier(found.group("word")) if part not in _PRONOUNS]
    stems: dict[str, tuple[int, ...]] = {}
    for place, word in enumerate(words):
        key = stem(word)
        stems[key] = (*stems.get(key, ()), place)
    return SaidWords(tuple(words), stems, frozenset(begins))


@dataclass(frozen=True, slots=True)
class NameMatch:
    """Tells which words of a name a text has, in its order: word → (place in the text, how surely it is that word).

    `missing`: the words that it lacks, weak ones aside; `strong`: how many of those that it has are none of these, nor
    said of any definition, such as `call`; weak ones count where all words stand together, as in `should_warn`.
    """

    found: Mapping[str, tuple[int, float]]
    missing: tuple[str, ...]
    strong: int

    @property
    def is_whole(self) -> bool:
        """True where the text has every word of the name that tells something, and there is one."""
        return bool(self.found) and not self.missing

    @property
    def is_nearly_whole(self) -> bool:
        """True where it lacks one word of four or more."""
        return len(self.missing) == 1 and self.strong >= LEAST_WITH_ONE_MISSING


def match_name(said: SaidWords, name: str, common: Collection[str] = ()) -> NameMatch:
    """Return which words of a name a text has, exactly, cut short or written out; or the name as one word.

    `common`: words that so many names have that they tell nothing, as `sds` in a library of that name.
    """
    parts = _as_said(said, split_identifier(name))
    own = [part for part in parts if part not in _WEAK and part not in common]
    found: dict[str, tuple[int, float]] = {}
    taken: set[int] = set()
    # Words that may be missing are looked for last, so that they take no place of another one.
    for part in (*own, *(part for part in parts if part not in own)):
        place = _place_of(said, part, taken)
        if place is not None:
            found.setdefault(part, place if part in own else (place[0], place[1] * OF_WEAK))
            taken.add(place[0])
    found = {part: found[part] for part in parts if part in found}
    missing = tuple(part for part in dict.fromkeys(own or parts) if part not in found)
    if missing and (joined := _joined_place(said, name)) is not None:
        return NameMatch({"".join(parts): (joined, EXACT)}, (), WRITTEN_AS_ONE)
    match = NameMatch(found, missing, len([part for part in own if part in found and stem(part) not in _SAID_OF_ANY]))
    told = [part for part in found if part not in _OF_SENTENCES]
    if len(found) == len(set(parts)) > match.strong > 0 and nearness(match) == 1:
        return NameMatch(found, missing, max(match.strong, len(told)))
    return match


def _as_said(said: SaidWords, parts: Sequence[str]) -> list[str]:
    """Return the parts of a name, two in a row as one where the text has them as one: `z`, `set` for «zset»."""
    joined: list[str] = []
    for part in parts:
        if joined and stem(joined[-1] + part) in said.stems:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _place_of(said: SaidWords, part: str, taken: set[int]) -> tuple[int, float] | None:
    """Return where a text has a word, and how surely it is that one."""
    exact = [place for place in said.stems.get(stem(part), ()) if place not in taken]
    if exact:
        return exact[0], EXACT
    for place, word in enumerate(said.words):
        is_beginning = _is_short_for(stem(word), part, LEAST_BEGINNING_CHARS)
        if place not in taken and (is_beginning or _is_short_for(part, word)):
            return place, CUT_SHORT
    return None


def _is_short_for(short: str, word: str, least: int = LEAST_SHORT_CHARS) -> bool:
    return len(short) >= least and len(word) >= len(short) + LEAST_CUT_CHARS and word.startswith(short)


def _joined_place(said: SaidWords, name: str) -> int | None:
    """Return where two or three neighbouring words of a text make a name that is written as one: `legacystore`."""
    whole = "".join(_WORD.findall(name)).lower()
    words: Sequence[str] = said.words
    for count in (2, 3):
        for first in range(len(words) - count + 1):
            if "".join(words[first : first + count]) == whole and len(whole) > LEAST_BEGINNING_CHARS:
                return first
    return None


def nearness(match: NameMatch) -> float:
    """Return how close to each other the words of a name stand in the text: 1 in a row as in the name, else less.

    0.5 where they stand within one word more in another order, 0 where others lie between them.
    """
    places = [place for place, _ in match.found.values()]
    if not places:
        return 0.0
    reach = max(places) - min(places) + 1
    if reach > len(places) + 1:
        return 0.0
    return 1.0 if places == sorted(places) else 0.5


def is_one_of_several(said: SaidWords, match: NameMatch) -> bool:
    """Return whether a text speaks of any thing of that name: «an exit code for …» is not the type `ExitCode`."""
    first = min((place for place, _ in match.found.values()), default=0)
    ahead = said.words[max(0, first - 2) : first]
    return any(word in _ANY_ONE for word in ahead)


def told_apart_by(said: SaidWords, match: NameMatch) -> frozenset[str]:
    """Return the stems of the words right ahead of those of a name, which say what sort of such a thing is meant.

    `fibonacci` of «the fibonacci back off policy»: what is called `BackOffPolicy` is another, unless it speaks of that.
    """
    taken = {place for place, _ in match.found.values()}
    ahead: set[str] = set()
    for first in taken:
        for place in range(first - 1, max(-1, first - 1 - MAX_AHEAD), -1):
            word = said.words[place]
            if place in taken or place + 1 in said.begins or word in STOP_WORDS or word in _WEAK:
                break
            if word not in _TELLS_NO_SORT and stem(word) not in _SAID_OF_ANY:
                ahead.add(stem(word))
    return frozenset(ahead)
