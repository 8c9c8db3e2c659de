"""Judges how well a closed set fits what all values are asked of.

That goes by its name, its owner, and what is said of it.

Every word of what is asked must be met. A set that is called after more than that, or whose name ends in another word
than the one asked for, is another set: `LOG_LEVEL_COLORS` are no log levels.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Collection, Sequence

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms, split_identifier, stem
from runtime.codebase.resolution.closed_sets.records import ClosedSet
from runtime.codebase.resolution.default_values.word_sets import words
from runtime.codebase.search.choices.asked_choices import OF_ANY_SET, OF_MEMBERS, AskedChoices
from runtime.codebase.search.choices.choice_files import DECLARING
from runtime.primitives.dotted_names import last_part

IN_OWNER, SAID, OF_MEMBER = 0.7, 0.6, 0.5
VALUES_OF, AN_OPTION = 1.5, 0.3
PRECISION_WEIGHT, BESIDE_WEIGHT = 0.5, 0.2
LEAST_PRECISION = 0.5
LEAST_SCORE = 1.2 - 1e-9
# What a set is worth by its kind: an enumeration is one on purpose.
_KIND_WORTH = {"enum": 0.15, "union": 0.15, "typed": 0.0, "constants": 0.15, "option": 0.1, "keys": 0.05, "list": 0.0}
OF_PURPOSE = frozenset({"enum", "union", "constants", "option", "typed"})
COLLECTIONS = frozenset({"keys", "list"})
_DECLARED_TYPES = frozenset({"enum", "union", "constants"})
# A set with a lower score that holds other members leaves no doubt from so much on.
CLEAR_MARGIN = 0.1
# Words of the names of collections for the collection itself, and for what its values are.
_OF_COLLECTION = frozenset(
    stem(word)
    for word in words(
        """
        builtin built map mapping dict list set table array tuple names values choices options all available
        supported valid allowed known default defaults enum message messages text texts label labels description
        descriptions titles arg args registry lookup index keys consts constants group class
        """
    )
)
_NOT_OF_KEYS = re.compile(r"(?<=[a-z])(?=To[A-Z]|By[A-Z])|_(?=TO_|BY_|to_|by_)")
_OF_DEFINITIONS = frozenset(stem(word) for word in words("error exception class function method module test fixture"))
# The types of a thing may be told by an enumeration that is called after it; a mapping is one of types or of things.
_OF_SORTS = frozenset({stem("kind"), stem("type")})
_OFFERED = frozenset(stem(word) for word in words("all available builtin built supported allowed known"))
# One that is asked for by such a word alone is a piece of code, unless a set is called exactly so.
_OF_CODE = frozenset(
    stem(word)
    for word in words(
        """
        error exception command backend plugin handler event hook driver adapter parser formatter class function
        method module test fixture setting option flag middleware service component route endpoint extension
        callback
        """
    )
)


@functools.lru_cache(maxsize=4096)
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the words of a name, stemmed, in order, without those of what the keys of a mapping lead to."""
    return tuple(stem(part) for part in split_identifier(_NOT_OF_KEYS.split(name.strip("_-"))[0]))


def core_of(words: Sequence[str], *, is_collection: bool, asked: Collection[str] = ()) -> tuple[str, ...]:
    """Return the words of a name that say what the members are, but for those that are asked for besides."""
    left_out = (OF_ANY_SET - _OF_SORTS).union(_OF_COLLECTION, asked) if is_collection else OF_ANY_SET
    core = tuple(word for word in words if word not in left_out)
    return core or tuple(words)


def fit(asked: AskedChoices, one: ClosedSet) -> float:
    """Return how well a set fits, 0 if it does not."""
    if kind_of_path(one.file) not in DECLARING:
        return 0.0
    if asked.option:
        return 2.0 if one.kind == "option" and asked.option in {name.lstrip("-") for name in one.names} else 0.0
    words = words_of_name(one.name)
    core, wanted = core_of(words, is_collection=one.kind in COLLECTIONS, asked=asked.beside), asked.terms
    if not core or not wanted:
        return 0.0
    joined = "".join(split_identifier(one.name))
    named = {*words, joined}
    if asked.is_value_of:
        is_same = (set(core) - OF_MEMBERS or set(core)) <= set(wanted) <= named
        worth = _KIND_WORTH[one.kind] + (AN_OPTION if one.kind == "option" else 0.0)
        return VALUES_OF + worth if is_same and one.kind in OF_PURPOSE else 0.0
    precision = 1.0 if joined in wanted else len(set(core) & set(wanted)) / len(set(core))
    met = _met(asked, one, named, precision)
    if met == 0 or not _ends_alike(wanted[-1], core, one, precision):
        return 0.0
    if (
        len(wanted) == 1
        and not (asked.beside and one.kind == "option")
        and not _is_sure_of_one_word(wanted[0], one, precision)
    ):
        return 0.0
    if precision < LEAST_PRECISION:
        return 0.0
    score = met + PRECISION_WEIGHT * precision + _KIND_WORTH[one.kind] + BESIDE_WEIGHT * bool(asked.beside & named)
    return score if score >= LEAST_SCORE else 0.0


def _met(asked: AskedChoices, one: ClosedSet, named: set[str], precision: float) -> float:
    """Return the mean of what each word is worth by where it stands; 0 if one of them stands nowhere."""
    wanted = asked.terms
    if named.isdisjoint(wanted):
        return 0.0
    folder, _, base = one.file.rpartition("/")
    owner = _terms(f"{one.owner} {base.partition('.')[0]} {posixpath.basename(folder)}")
    # One that is called after another word for its members is not meant: `MigrationType` for «migration states».
    is_plain = OF_ANY_SET.isdisjoint(words_of_name(one.name))
    said, worth = _terms(f"{one.docstring} {one.used_for}"), 0.0
    for term in wanted:
        if term in named:
            worth += 1.0
        elif term in owner:
            worth += IN_OWNER
        elif term in said:
            worth += SAID
        elif term == wanted[-1] and is_plain and term in OF_MEMBERS and precision == 1.0:
            worth += OF_MEMBER
        else:
            return 0.0
    return worth / len(wanted)


def _ends_alike(noun: str, core: Sequence[str], one: ClosedSet, precision: float) -> bool:
    """Return whether the members of a set are called so: by the end of its name, or by what it is looked up by."""
    is_said = one.kind in OF_PURPOSE and noun in _terms(one.docstring)
    return core[-1] == noun or is_said or noun in _terms(one.used_for) or precision == 1.0


def _is_sure_of_one_word(noun: str, one: ClosedSet, precision: float) -> bool:
    """Return whether a set is called so and no more: «modes» may be those of anything, `PressMode` is of presses."""
    if precision < 1.0 or one.kind in {"option", "typed"}:
        return False
    is_exact = one.kind in COLLECTIONS and words_of_name(one.name) == (noun,) and noun not in _OF_DEFINITIONS
    return noun not in _OF_CODE or one.kind in _DECLARED_TYPES or is_exact


def is_vague(asked: AskedChoices, one: ClosedSet) -> bool:
    """Return whether one word alone is asked for, and the set does not say that it is what the program offers."""
    if len(asked.terms) != 1 or asked.option or asked.is_value_of or one.kind == "option":
        return False
    return (_OFFERED | asked.beside).isdisjoint(words_of_name(one.name))


@functools.lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(index_terms(text).split())


def best_of(scored: Sequence[tuple[float, ClosedSet]]) -> list[tuple[float, ClosedSet]]:
    """Return the sets that fit, best first; none where another one with other members fits as well as the best."""
    ordered = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].file, pair[1].line))
    if not ordered:
        return []
    first, best = ordered[0]
    rivals = [one for score, one in ordered[1:] if score > first - CLEAR_MARGIN and _is_rival(best, one)]
    return [] if rivals else ordered


def _is_rival(best: ClosedSet, other: ClosedSet) -> bool:
    """Return whether another set may be meant instead: it holds other members, and is one on purpose if the best is."""
    if best.kind in OF_PURPOSE and (other.kind in COLLECTIONS or (other.kind == "typed" and best.kind != "typed")):
        return False
    return {last_part(one.name) for one in best.members} != {last_part(one.name) for one in other.members}
