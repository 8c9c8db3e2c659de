"""Chooses the definitions that tell of a part: those that others use, or its own files share."""

from __future__ import annotations

import functools
import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence

from runtime.codebase.index.records import ImportRecord, SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.overview.descriptions import of_definition
from runtime.codebase.overview.folder_files import FolderFiles, Placed
from runtime.codebase.overview.mentions import Bound, CodeWords, bound_by, files_naming
from runtime.codebase.overview.part_names import (
    CONTAINERS,
    WITH_MODULES,
    defined,
    is_exported,
    is_hidden,
    is_shown,
    plain_name,
    telling,
)
from runtime.codebase.overview.purposes import names_of
from runtime.codebase.overview.units import Unit

MAX_NAMES_OF_PART = 3
MAX_TIMES_DEFINED = 4
MAX_IMPORTING_FILES = 400
LEAST_LINES_TELLING = 6
# Of a folder with so many files, definitions of a smaller share that hardly anybody else uses tell less than its files.
LEAST_FILES, LEAST_SHARE_TELLING, LEAST_USERS_TELLING = 3, 0.04, 3
LEAST_SHARE_WITHIN = 0.4
LEAST_ALIKE_FILES = 5
LEAST_SHARE_ALIKE = 0.6
_NAMED_KINDS = (*("class", "struct", "interface", "trait", "function", "enum", "type", "object", "module", "macro"),)
_ALIKE_KINDS = frozenset({"function", "class", "interface", "trait"})
# Languages in which the methods of a type stand outside of it.
_METHODS_OUTSIDE = ("go", "rust", "cpp")
_LAST_KINDS = frozenset({"macro"})


class PartDefinitions:
    """Holds the definitions of a folder's source files, and chooses those that tell of a part."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files
        self._words = CodeWords(files.lines)

    def names_used(self, unit: Unit, users: Sequence[str]) -> list[Placed]:
        """Return the names that a part defines and others use most; those used most within it where no file imports it.

        Only a name that is defined once among all parts is counted.
        """
        inside = set(unit.files)
        found = [symbol for symbol in self.all if symbol.file in inside]
        # A name that many files open again is the namespace of all.
        stem = plain_name(posixpath.splitext(posixpath.basename(unit.path))[0])
        own_name = {one.name for one in found if unit.is_file and plain_name(one.name) == stem}
        found = [
            one for one in found if self._times_defined[one.name] <= MAX_TIMES_DEFINED or one.name in own_name
        ] or found
        # Of the pieces of one definition the one in the file that is called so stands for all.
        found.sort(key=lambda one: (one.file != unit.path, posixpath.basename(one.file).split(".")[0] != one.name))
        own = {symbol.name: symbol for symbol in reversed(found)}
        single = {
            name: symbol for name, symbol in own.items() if self._times_defined[name] == 1 and not is_hidden(symbol)
        }
        counts = files_naming(users, single, self._bound(users, unit), self._words)
        within = Counter[str]()
        if not counts and len(unit.files) > 1:
            within = files_naming(unit.files[:MAX_IMPORTING_FILES], own, {}, self._words)

        def place(symbol: SymbolRecord) -> tuple[bool, float, str, int]:
            used = 1 + (counts[symbol.name] or within[symbol.name] / 2)
            lines = self._lines_of(symbol)
            is_near = posixpath.dirname(symbol.file) in (unit.path, posixpath.dirname(unit.path))
            weight = telling(symbol, used, lines, {stem, *self._project} if is_near else self._project)
            return symbol.kind in _LAST_KINDS, -weight, symbol.file, symbol.start_line

        if not own and unit.is_file and language_at(unit.path).name in _METHODS_OUTSIDE:
            return self._methods_of(unit)
        ranked = sorted(own.values(), key=place)
        # What no other package can name is told only where there is nothing else.
        ranked = [symbol for symbol in ranked if is_exported(symbol)] or ranked
        shown = ranked[:MAX_NAMES_OF_PART]
        if not unit.is_file and len(unit.files) >= LEAST_FILES and not self._tell_of(unit, shown, counts):
            return self._largest_files(unit)
        return [defined(symbol, counts[symbol.name]) for symbol in ranked[:MAX_NAMES_OF_PART]]

    def _tell_of(self, unit: Unit, shown: Sequence[SymbolRecord], counts: Mapping[str, int]) -> bool:
        """Return whether definitions tell of a folder: the first is a type that is large, or that many files use.

        Failing that, most of them are types, and not all small.
        """
        if not shown:
            return False
        first = shown[0]
        if plain_name(first.name) in {plain_name(posixpath.basename(unit.path)), *self._project}:
            return True
        types = [one for one in shown if one.kind in (*CONTAINERS, "type")]
        least = LEAST_SHARE_TELLING * unit.lines
        if first not in types:
            return 2 * len(types) >= len(shown) and any(self._lines_of(one) >= least for one in shown)
        if self._lines_of(first) >= least or counts.get(first.name, 0) >= LEAST_USERS_TELLING:
            return True
        naming = self._files.codebase.index.files_naming(first.name)
        return len(set(naming).intersection(unit.files)) >= LEAST_SHARE_WITHIN * len(unit.files)

    def _lines_of(self, symbol: SymbolRecord) -> int:
        return max(symbol.end_line - symbol.start_line + 1, self._lines_of_methods.get(symbol.name, 0))

    def _methods_of(self, unit: Unit) -> list[Placed]:
        """Return the largest methods that a file adds to types of other files."""
        found = [one for path in unit.files for one in self._files.codebase.symbols_in(path) if one.kind == "method"]
        found = [one for one in found if is_exported(one)] or found
        found.sort(key=lambda one: (one.start_line - one.end_line, one.start_line))
        return [Placed(one.qualified_name, one.file, one.name_line, one.name_line) for one in found[:MAX_NAMES_OF_PART]]

    def _largest_files(self, unit: Unit) -> list[Placed]:
        """Return the largest files of a folder, which tell more of it than functions that nobody else uses."""
        sizes = self._files.sizes
        largest = sorted(unit.files, key=lambda path: (-sizes[path], path))[:MAX_NAMES_OF_PART]
        return [Placed(posixpath.relpath(path, unit.path), path, 1, 1, "file") for path in largest]

    def _bound(self, users: Sequence[str], unit: Unit) -> dict[str, Bound]:
        """Return what the files that import a part may call its names by."""
        imports: dict[str, list[ImportRecord]] = {path: [] for path in users}
        for record in self._files.codebase.index.imports_of_files(sorted(users)):
            imports[record.file].append(record)
        inside = {*unit.files, unit.path, *(posixpath.dirname(path) for path in unit.files)}
        stems = {posixpath.splitext(posixpath.basename(path))[0] for path in inside}
        return {path: bound_by(found, path, inside, stems) for path, found in imports.items()}

    def alike(self, unit: Unit) -> Placed | None:
        """Return the function or type that most files of a part have each one of, as a file for each command does."""
        if len(unit.files) < LEAST_ALIKE_FILES:
            return None
        inside, files = set(unit.files), dict[str, dict[str, SymbolRecord]]()
        for symbol in self.all:
            # In Ruby every file opens the namespace again.
            is_reopened = symbol.kind in CONTAINERS and language_at(symbol.file).name in WITH_MODULES
            if symbol.file in inside and symbol.parent_id is None and symbol.kind in _ALIKE_KINDS and not is_reopened:
                files.setdefault(symbol.name, {}).setdefault(symbol.file, symbol)
        best = max(files.values(), key=lambda found: (len(found), min(found)), default={})
        if len(best) < max(LEAST_ALIKE_FILES, LEAST_SHARE_ALIKE * len(unit.files)):
            return None
        return defined(best[min(best)], len(best))

    def is_small(self, named: Placed) -> bool:
        """Return whether a name is that of a function of a few lines, which says nothing of the part around it."""
        return any(
            one.kind == "function" and one.end_line - one.start_line < LEAST_LINES_TELLING
            for one in self.all
            if (one.file, one.start_line, one.name) == (named.file, named.start_line, named.text)
        )

    def said_of(self, named: Placed) -> Placed | None:
        """Return the first sentence of a definition's documentation."""
        symbols = self._files.codebase.symbols_in(named.file)
        symbol = next((one for one in symbols if (one.start_line, one.name) == (named.start_line, named.text)), None)
        if symbol is None or not symbol.docstring:
            return None
        lines = self._files.lines(named.file)
        said = of_definition(lines, symbol.start_line, symbol.end_line, symbol.docstring, symbol.name)
        return None if said is None else Placed(said.text, named.file, said.start_line, said.end_line, named.text)

    @functools.cached_property
    def all(self) -> list[SymbolRecord]:
        """Return the definitions of the source files that may stand for a part."""
        found = self._files.codebase.index.top_level_names(self._files.sizes, _NAMED_KINDS)
        return [symbol for symbol in found if is_shown(symbol)]

    @functools.cached_property
    def _project(self) -> set[str]:
        """Return what the whole is called, as plain names."""
        return {plain_name(name) for name in names_of(self._files)}

    @functools.cached_property
    def _lines_of_methods(self) -> dict[str, int]:
        return self._files.codebase.index.lines_of_methods(_METHODS_OUTSIDE)

    @functools.cached_property
    def _times_defined(self) -> Counter[str]:
        return Counter(symbol.name for symbol in self.all)
