"""Proves the values of names: follows each place that gives a name a value to a literal.

`ValueChains.of` returns the chains of a name: each place that says what its default or its value is, then each
constant on the way, with its line. A chain whose end cannot be reached has no value. A name that stands for several
things, that is bound again, or that a function's own variable may hide is not followed: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from runtime.codebase.resolution.default_values.handed_names import sites_of
from runtime.codebase.resolution.default_values.site_roles import (
    NOTHING,
    UNSET_NUMBERS,
    Role,
    conditions_of,
    is_filled_in,
    role_of,
)
from runtime.codebase.resolution.default_values.site_surroundings import NO_NAMES, TESTS
from runtime.codebase.resolution.default_values.value_expressions import path_of
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import MAX_LINE_CHARS, Site, key_of
from runtime.codebase.resolution.default_values.value_syntax import has_values, syntax_of

MAX_STEPS = 6
MAX_BRANCHES = 4
MAX_FILES = 40
MAX_CHAINS = 12
# A declaration may go on for so many lines.
MAX_DECLARED_LINES = 40

_DEFAULT = re.compile(r"default", re.IGNORECASE)
_MADE_OF_ONE = re.compile(r"^(?:\w+\.)*[A-Z]\w*\(([\w.]+)\)$")


class ChainStep(msgspec.Struct, frozen=True):
    """Represents a line on the way from a name to its value.

    `last_line`: that of a sentence which goes on behind its first line; 0 for a line of code.
    """

    file: str
    line: int
    text: str
    name: str
    last_line: int = 0


class ValueChain(msgspec.Struct, frozen=True):
    """Represents the proof of a value, or the place where a name is set if its value cannot be proven.

    `name` as written in code; `owner`: the type, function or variable it belongs to; `value`: the literal, or an
    expression of literals and of the names that `steps` follow; None if it is not proven. `conditions`: those under
    which it holds. `steps` begin with the place itself. `fills`: it is set where the name has no value yet.
    """

    name: str
    owner: str
    role: Role
    form: str
    value: str | None
    steps: tuple[ChainStep, ...]
    conditions: tuple[str, ...] = ()
    function: str = ""
    fills: bool = False

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line of the place."""
        return self.steps[0].file, self.steps[0].line


class _End(msgspec.Struct, frozen=True):
    """Represents the end of a chain: its value, the steps to it and the conditions on the way."""

    value: str
    steps: tuple[ChainStep, ...] = ()
    conditions: tuple[str, ...] = ()


class ValueChains:
    """Proves the values of names of one repository."""

    def __init__(self, scopes: ValueScopes) -> None:
        self.scopes = scopes

    def of(self, name: str, files: Iterable[str] = ()) -> list[ValueChain]:
        """Return the chains of a name in some files, defaults before constants, each place once.

        Defaults that are not proven are among them, without a value; without any default or constant, the places that
        set the name.
        """
        found = [
            site
            for file in list(dict.fromkeys(files))[:MAX_FILES]
            if (values := self.scopes.values(file)) is not None
            for site in sites_of(values, name)
            if TESTS not in site.around.conditions
        ]
        again = _bound_again(found)
        chains = [chain for site in found for chain in self.at(site, is_known=(site.file, site.line) not in again)]
        told = [chain for chain in chains if chain.role != "set"]
        proven = [chain for chain in told if chain.value is not None]
        unproven = [chain for chain in told if chain.value is None and not _passes_on(chain)]
        if unproven and all(chain.value in NOTHING for chain in proven):
            proven = []
        kept = [*proven, *unproven] or told or chains
        return whole(sorted(kept, key=lambda chain: chain.role == "constant"))[:MAX_CHAINS]

    def at(self, site: Site, *, is_known: bool = True) -> list[ValueChain]:
        """Return the chains that begin at a site; one without a value if it cannot be followed."""
        language = self.scopes.language(site.file)
        role = role_of(site, syntax_of(language)) if has_values(language) else "set"
        around = site.around
        holders = [one for one in around.holders if one not in NO_NAMES and one != site.name]
        owner = around.owner or (holders[0] if holders and site.form in {"entry", "keyword"} else "")
        first, conditions, fills = _step(site), conditions_of(site), is_filled_in(site)
        ends = self._ends(site, (), 0) if role != "set" and is_known else []
        if not ends:
            return [
                ValueChain(site.name, owner, role, site.form, None, (first,), conditions, around.function, fills),
            ]
        return [
            ValueChain(
                *(site.name, owner, role, site.form, end.value, (first, *end.steps)),
                tuple(dict.fromkeys((*conditions, *end.conditions))),
                around.function,
                fills,
            )
            for end in ends
        ]

    def _ends(self, site: Site, seen: tuple[tuple[str, int, str], ...], depth: int) -> list[_End]:
        """Return where the value of a site leads to; empty if any of its names cannot be followed."""
        mark = (site.file, site.line, site.name)
        if mark in seen or depth >= MAX_STEPS:
            return []
        if site.value is None:
            # A member of an enumeration without a number is a value of its own.
            is_symbol = site.form == "member" and "=" not in site.text
            return [_End(f"{site.around.owner}.{site.name}" if site.around.owner else site.name)] if is_symbol else []
        value = site.value
        if value.is_literal:
            return [_End(value.text, self._line_of_value(site, value.text))]
        followed = [self._end_of_name(name, site, (*seen, mark), depth) for name in value.names]
        if not all(followed):
            return []
        if len(value.names) == 1 and value.text == value.names[0]:
            return followed[0][:MAX_BRANCHES]
        if any(len(ends) > 1 for ends in followed):
            return []
        steps = tuple(dict.fromkeys(step for ends in followed for step in ends[0].steps))
        conditions = tuple(dict.fromkeys(one for ends in followed for one in ends[0].conditions))
        return [_End(value.text, steps, conditions)]

    def _line_of_value(self, site: Site, value: str) -> tuple[ChainStep, ...]:
        """Return the line that has the value of a declaration of several lines; empty if the first one has it."""
        if value in site.text or site.end_line == site.start_line:
            return ()
        if site.value_line:
            own = self.scopes.lines(site.file, site.value_line, site.value_line)
            return tuple(
                ChainStep(site.file, site.value_line, line.strip()[:MAX_LINE_CHARS].rstrip(), site.name)
                for line in own
                if site.value_line != site.line and value in line
            )
        last = min(site.end_line, site.start_line + MAX_DECLARED_LINES)
        found = [
            (number, line.strip())
            for number, line in enumerate(self.scopes.lines(site.file, site.start_line, last), site.start_line)
            if value in line and number != site.line
        ]
        found = [one for one in found if _DEFAULT.search(one[1])] or found
        return tuple(
            ChainStep(site.file, number, line[:MAX_LINE_CHARS].rstrip(), site.name) for number, line in found[:1]
        )

    def _end_of_name(self, name: str, site: Site, seen: tuple[tuple[str, int, str], ...], depth: int) -> list[_End]:
        targets = self.scopes.targets(name, site)
        if targets is None:
            return [_End(name)]
        ends = []
        for target in targets[: MAX_BRANCHES + 1]:
            further = self._ends(target, seen, depth + 1)
            if not further:
                return []
            for end in further:
                conditions = (*conditions_of(target), *end.conditions)
                ends.append(_End(end.value, (_step(target), *end.steps), conditions))
        return ends if len(ends) <= MAX_BRANCHES else []


def _step(site: Site) -> ChainStep:
    return ChainStep(site.file, site.line, site.text, site.name)


def _passes_on(chain: ValueChain) -> bool:
    """Return whether a place only hands on a value of the same name: `self.size = size`, `size: options.size`.

    So does one that makes an object of it alone: `self._size = Size(size)`.
    """
    _, _, given = chain.steps[0].text.rpartition("=" if chain.form == "binding" else ":")
    path = path_of(_MADE_OF_ONE.sub(r"\1", given.strip(" ,;")))
    return bool(path) and key_of(path[-1]) == key_of(chain.name)


def _bound_again(sites: Sequence[Site]) -> set[tuple[str, int]]:
    """Return the places that give a name a value where another one, in the same scope, gives it another."""
    places: dict[tuple[object, ...], set[int]] = {}
    for site in sites:
        if site.form == "binding" and not site.joins:
            around = site.around
            key = (site.file, site.path, around.owner, around.function, around.conditions)
            places.setdefault(key, set()).add(site.line)
    return {(str(key[0]), line) for key, lines in places.items() if len(lines) > 1 for line in lines}


def whole(chains: Sequence[ValueChain]) -> list[ValueChain]:
    """Return chains without those that are a part of another one, each place and value once.

    That a name is nothing at first does not matter where something else is filled in for the same owner, nor does a
    number that stands for nothing, such as -1, whatever is filled in instead.
    """
    inner = {(step.file, step.line, step.name) for chain in chains for step in chain.steps[1:]}
    filled = {chain.owner for chain in chains if chain.value is not None and chain.value not in NOTHING}
    replaced = {chain.owner for chain in chains if chain.fills}
    kept: dict[tuple[tuple[str, int], str, str | None], ValueChain] = {}
    for chain in chains:
        first = chain.steps[0]
        is_part = (first.file, first.line, first.name) in inner
        is_unset = not chain.fills and chain.value in UNSET_NUMBERS and chain.owner in replaced
        if not is_part and not is_unset and not (chain.value in NOTHING and chain.owner in filled):
            kept.setdefault((chain.place, key_of(chain.name), chain.value), chain)
    return list(kept.values())
