"""Finds the closed set that a question means, in the few files that may declare it.

An option that takes its values from a name is followed to what that means: in its own file, by an import, or as the one
definition of that name in the sources.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.language_registry import language_of
from runtime.codebase.resolution.closed_sets.file_sets import sets_in
from runtime.codebase.resolution.closed_sets.records import ClosedSet
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.search.choices.asked_choices import asked_choices
from runtime.codebase.search.choices.choice_files import DECLARING, SET_KINDS, files_for
from runtime.codebase.search.choices.choice_fit import best_of, fit, is_vague

MAX_FOLLOWED = 4
MAX_SYMBOLS = 50
MAX_NAMING_FILES = 20
MAX_NAMING = 200
# Where a name is added to: an entry is set, or a method that adds is called.
_ADDED = (
    r"(?<![\w]){name}\s{{0,2}}(?:\[[^\]\n]{{1,80}}\]\s{{0,2}}=(?!=)"
    r"|\.(?:update|append|extend|insert|add|setdefault|push|unshift|put|set|Add|concat!|merge!|store)\("
    r"|\s(?:\|=|\+=|<<)|\.\w{{1,60}}\s{{0,2}}=(?![=>]))"
)


class FoundSet(NamedTuple):
    """Describes a set that fits, how well, and the option that takes its values from it, if that is asked for.

    `added_at`: a place where more is added to it than it declares, as (file, line).
    """

    one: ClosedSet
    score: float
    option: ClosedSet | None = None
    added_at: tuple[str, int] | None = None


def _lists_secrets(one: ClosedSet) -> bool:
    return one.kind == "list" and any(is_secret(one.name.rstrip("sS"), f'"{member.name}"') for member in one.members)


class ChoiceFinder:
    """Finds closed sets of one repository for one question."""

    def __init__(self, index: IndexReader, read: ReadSource) -> None:
        self._index = index
        self._read = read
        self._sets: dict[str, list[ClosedSet]] = {}
        self.parsed = 0

    def find(self, query: str) -> list[FoundSet]:
        """Return the sets that fit a query, best first; none where it is not clear which one is meant."""
        asked = asked_choices(query)
        if not asked.option and not asked.terms:
            return []
        files = files_for(self._index, asked)
        scored: list[tuple[float, ClosedSet]] = []
        options: dict[ClosedSet, ClosedSet] = {}
        for file in files:
            for one in self.sets(file):
                score = fit(asked, one)
                if score <= 0 or _lists_secrets(one) or (is_vague(asked, one) and not self._is_common(one)):
                    continue
                meant = one if one.members else self._referred(one)
                if meant is not None:
                    scored.append((score, meant))
                    options |= {meant: one} if meant is not one else {}
        return [FoundSet(one, score, options.get(one), self._added_at(one)) for score, one in best_of(scored)]

    def _is_common(self, one: ClosedSet) -> bool:
        """Return whether another file names a set: what one file alone speaks of is no matter of the program."""
        is_inner = one.name.startswith("_") or (one.name[:1].islower() and (one.kind == "constants" or bool(one.owner)))
        if is_inner:
            return False
        term = next(iter(index_terms(one.name).split()), "")
        naming = self._index.files_with_term(term, MAX_NAMING) if term.isalnum() else []
        others = [path for path in naming if path != one.file and kind_of_path(path) in DECLARING][:MAX_NAMING_FILES]
        named = re.compile(rf"(?<!\w){re.escape(one.name)}(?!\w)")
        sources = (self._read(path) for path in others)
        return any(source is not None and named.search(source.text) is not None for source in sources)

    def sets(self, file: str) -> list[ClosedSet]:
        """Return the closed sets of a file; of one that is gone or cannot be read none."""
        if file not in self._sets:
            source = self._read(file)
            self.parsed += source is not None
            self._sets[file] = [] if source is None else sets_in(file, source.text, self._language(file))
        return self._sets[file]

    def _language(self, file: str) -> str | None:
        known = self._index.file(file)
        return language_of(file) if known is None else known.language

    def _referred(self, option: ClosedSet) -> ClosedSet | None:
        """Return the one set that an option takes its values from."""
        found = [one for name in option.refers if (one := self._named(option.file, name)) is not None]
        return found[0] if len({(one.file, one.line) for one in found}) == 1 else None

    def _named(self, file: str, name: str) -> ClosedSet | None:
        own = [one for one in self.sets(file) if one.name == name and one.members]
        if own:
            return own[0]
        for place, own_name in self._places_of(file, name):
            found = [one for one in self.sets(place) if one.name == own_name and one.members]
            if found:
                return found[0]
        return None

    def _places_of(self, file: str, name: str) -> Iterator[tuple[str, str]]:
        """Yield where a name may come from, and what it is called there.

        Where the file imports it from, then its own folder, then the only file that defines it.
        """
        for one in self._index.imports("f.path = ?", (file,)):
            if one.target and name in (one.alias or one.name, one.name):
                yield one.target, one.name or name
        places = dict.fromkeys(
            symbol.file
            for symbol in self._index.symbols_of_name(name, MAX_SYMBOLS)
            if symbol.name == name and symbol.kind in SET_KINDS and kind_of_path(symbol.file) in DECLARING
        )
        folder = posixpath.dirname(file)
        beside = [place for place in places if posixpath.dirname(place) == folder]
        only = list(places) if len(places) == 1 else []
        for place in (beside or only)[:MAX_FOLLOWED]:
            yield place, name

    def _added_at(self, one: ClosedSet) -> tuple[str, int] | None:
        """Return a place that adds to a collection, in its own file or in those that name it."""
        if one.kind == "constants":
            return self._declared_elsewhere(one)
        if one.kind not in {"keys", "list"}:
            return None
        pattern = re.compile(_ADDED.format(name=re.escape(one.name)))
        naming = [path for path in self._index.files_naming(one.name) if kind_of_path(path) == "source"]
        for path in dict.fromkeys([one.file, *naming[:MAX_NAMING_FILES]]):
            source = self._read(path)
            for number, line in enumerate(source.lines if source is not None else (), 1):
                is_own = path == one.file and one.start_line <= number <= one.end_line
                if one.name in line and not is_own and pattern.search(line[:2_000]):
                    return path, number
        return None

    def _declared_elsewhere(self, one: ClosedSet) -> tuple[str, int] | None:
        """Return where another file of a package of Go declares a constant of the same type."""
        folder = posixpath.dirname(one.file)
        where = "s.kind = 'constant' AND f.path LIKE ? AND f.path != ? AND s.signature LIKE ?"
        like = (f"{folder}/%" if folder else "%", one.file, f"% {one.name} =%")
        for symbol in self._index.symbols(where, like, 20):
            if posixpath.dirname(symbol.file) == folder and kind_of_path(symbol.file) == "source":
                return symbol.file, symbol.name_line
        return None
