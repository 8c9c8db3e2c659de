"""Decides what a site says of its name: its default, that it is a constant, or only that it is set.

A default is what holds when nobody gives another value: the default of a parameter or an option, a fallback, an entry
of a literal that is named after defaults, or what a constructor sets. An assignment anywhere else is none.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Literal

from runtime.codebase.files.words import split_identifier
from runtime.codebase.language_parts.value_syntax import ValueSyntax
from runtime.codebase.resolution.default_values.site_surroundings import EXPORTS, TESTS
from runtime.codebase.resolution.default_values.value_expressions import absent_name, path_of
from runtime.codebase.resolution.default_values.value_sites import Site, key_of, primary_paths
from runtime.codebase.resolution.default_values.word_sets import words

# `constant`: a name that is bound once, outside functions; `default`: as above; `set`: any other place.
Role = Literal["constant", "default", "set"]

_DEFAULTS = words("default defaults dflt fallback fallbacks")
SETTINGS = words("option options config configuration settings setting conf initial preferences")
_MAKERS = words("new default defaults init initialize initialise create make builder build construct")
# What reads options into an object begins with one that has the defaults.
_READERS = words("parse load read get")
_OF_ANY = words("common base internal with from instance options config settings struct object self app the a of")
_INITIAL = words("init initialize initialise default defaults")
_OWN_OBJECT = words("self this cls")
# Literals by which code says that there is no value yet.
NOTHING = frozenset({"None", "null", "nil", "undefined", "NULL", "nullptr", "{}", "[]", '""', "''"})
# Numbers by which code says the same.
UNSET_NUMBERS = frozenset({"-1", "0"})
# What a loop gives is made again and again, from what it goes through.
_LOOP = re.compile(r"(?:for|foreach|while|until|loop|do)\b")
_BOUND = re.compile(r"(?:<=?|===?)\s*(-?\d+)\b")
_CONSTANT_NAME = re.compile(r"[A-Z][A-Z\d_]+|k[A-Z]\w+")
_FIXED = re.compile(r"\b(?:const|constexpr|final|readonly|Final)\b")


def role_of(site: Site, syntax: ValueSyntax) -> Role:
    """Return what a site says of its name."""
    if TESTS in site.around.conditions:
        return "set"
    if site.declares or site.form == "parameter":
        return "default"
    if site.form == "fallback":
        return "set" if site.value is not None and site.value.text in NOTHING else "default"
    if site.joins or is_filled_in(site):
        return "default"
    if site.form == "member":
        return "constant"
    if site.form in {"entry", "keyword"}:
        return "default" if _is_entry_of_defaults(site, syntax) else "set"
    if not site.around.depth and site.value is not None and site.value.has_fallback:
        return "default"
    if not site.around.depth:
        return "default" if site.around.owner and not _is_fixed(site) else "constant"
    if site.value is not None and site.value.has_fallback and (len(site.path) > 1 or _falls_back_for_own(site)):
        return "default"
    is_member = len(site.path) > 1 or _is_bare_member(site, syntax)
    return "default" if is_member and _makes_objects(site, syntax) else "set"


def conditions_of(site: Site) -> tuple[str, ...]:
    """Return the conditions under which a site holds, without that its own name has no value yet."""
    if site.form == "parameter":
        return ()
    own = site.around.conditions
    return own[1:] if is_filled_in(site) else own


def is_filled_in(site: Site) -> bool:
    """Return True for a value that is set where the name has none: `if x is None: x = 5`, `#ifndef X`."""
    if site.form != "binding" or not site.around.conditions:
        return False
    condition = site.around.conditions[0]
    if condition.startswith("#ifndef "):
        return condition.removeprefix("#ifndef ").strip() == site.name
    absent = absent_name(condition)
    return absent is not None and path_of(absent)[-2:] == site.path[-2:] and not _is_clamp(site, condition)


def _is_clamp(site: Site, condition: str) -> bool:
    """Return True for a number that keeps a name within its bounds, or stands for nothing: `if x < 0 { x = 0 }`."""
    bound = _BOUND.search(condition)
    told = site.value.text if site.value is not None else ""
    return bound is not None and (told == bound.group(1) or told in UNSET_NUMBERS)


def _is_fixed(site: Site) -> bool:
    """Return True for a member that is a constant, by its name or its declaration."""
    return _CONSTANT_NAME.fullmatch(site.name) is not None or _FIXED.search(site.text) is not None


def _is_entry_of_defaults(site: Site, syntax: ValueSyntax) -> bool:
    """Return True for an entry of a literal that is named after defaults, or that a constructor returns."""
    around = site.around
    words = {word for holder in around.holders for word in _words(holder)} | set(_words(around.function))
    if not _DEFAULTS.isdisjoint(words):
        return True
    if around.depth:
        is_repeated = any(_LOOP.match(condition) for condition in around.conditions)
        return site.form == "entry" and not is_repeated and _makes_objects(site, syntax, _MAKERS | _READERS)
    if not around.holders or around.holders[-1] == EXPORTS:
        return not _DEFAULTS.isdisjoint(_words(site.file.rpartition(".")[0].replace("/", "_")))
    return not SETTINGS.isdisjoint(_words(around.holders[-1]))


def _makes_objects(site: Site, syntax: ValueSyntax, makers: Set[str] = _MAKERS) -> bool:
    """Return True if the function around a site is a constructor or is named like one, by one of the `makers`."""
    function = (path_of(site.around.function) or ("",))[-1]
    # A language without constructors fills in what it begins with in a function that says so: `config__init_reload`.
    if not site.around.owner and len(site.path) > 1 and not _INITIAL.isdisjoint(_words(function)):
        return True
    if function and (function in syntax.constructors.split() or function == site.around.owner):
        return True
    words = _words(function)
    if not words or not (words[0] in makers or words[-1] in makers):
        return False
    # `buildHelpCommand` makes one command of many: what it sets is no default of commands.
    of_type = {word for name in (site.around.owner, *site.around.holders) for word in _words(name)}
    of_thing = of_type | {word for name in site.path[:-1] for word in _words(name)}
    return not of_type or set(words) <= makers | _OF_ANY | of_thing


def _is_bare_member(site: Site, syntax: ValueSyntax) -> bool:
    """Return True for `@x`, for a member that an initialiser list sets, and for an own member of a bare name."""
    return site.text.lstrip().startswith("@") or (
        syntax.members_are_bare and site.form == "binding" and key_of(site.around.function) == key_of(site.around.owner)
    )


def _falls_back_for_own(site: Site) -> bool:
    """Return True for a variable that is named after what its value reads first: `const port = options.port ?? 80`."""
    read = site.value.primary if site.value is not None else ""
    return any(key_of(path[-1]) == key_of(site.name) for path in primary_paths(read))


def _words(name: str) -> list[str]:
    return split_identifier(name)
