"""Describes the main parts of a folder by their own sentences, or by the names that others use most."""

from __future__ import annotations

import functools
import posixpath
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.codebase.index.records import ImportRecord, SymbolRecord
from runtime.codebase.language_registry import all_words, language_at, language_named
from runtime.codebase.overview.descriptions import of_definition, of_file, of_folder, readmes_of, says_something
from runtime.codebase.overview.entry_points import is_script_path
from runtime.codebase.overview.folder_files import FolderFiles, Placed, in_folder
from runtime.codebase.overview.mentions import Bound, CodeWords, bound_by, files_naming
from runtime.codebase.overview.named_links import NAMING, links_by_names, single_types
from runtime.codebase.overview.part_links import PartLinks, without_guesses
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
from runtime.codebase.overview.prose_lines import headings
from runtime.codebase.overview.purposes import names_of
from runtime.codebase.overview.units import Unit, bodies_of, divide

MAX_NAMES_OF_PART = 3
MAX_TIMES_DEFINED = 4
OTHER_LANGUAGE_WEIGHT = 0.2
PROGRAMS_WEIGHT = 0.1
ENTERED_WEIGHT, HUB_WEIGHT = 2.0, 4.0
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

PartKind = Literal["folder", "file", "document"]


@dataclass(frozen=True, slots=True)
class Part:
    """Describes a main part: what it says of itself (`said`), or which of its `names` the files that import it use.

    `alike`: a definition of which `count` files of the part have one of that name.
    """

    name: str
    files: int
    lines: int
    said: Placed | None
    names: tuple[Placed, ...]
    largest: str
    kind: PartKind = "folder"
    alike: Placed | None = None


class MainParts:
    """Divides a folder into parts and describes them; the heaviest first."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files
        packages = {posixpath.dirname(path) or "." for path in files.manifests} - {files.place}
        links = [link for link in files.codebase.file_links() if link[0] in files.sizes]
        links = [*without_guesses(links, files.languages, files.lines), *self._links_by_names(links)]
        heads, bodies = all_words("head_files"), bodies_of(files.sizes, links)
        units = divide(files.sizes, files.place, packages=packages, heads=heads, bodies=bodies)
        self.links = PartLinks(units, links, lambda path: language_at(path).imports_folders)
        self._words = CodeWords(files.lines)
        self._count = max(1, len(units))
        self._preferred: Mapping[str, float] = {}
        self.units = sorted(units, key=self._weight, reverse=True)

    def _links_by_names(self, links: Collection[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
        """Return the uses of others' types, where files need no import for these, that are no imports as well."""
        languages = self._files.languages
        if not any(languages[path] in NAMING for path in self._files.sizes):
            return []
        types = single_types(self._definitions, languages)
        uses = self._files.codebase.index.uses_of_names(types, NAMING)
        known = {(file, target) for file, target, _ in links}
        # A program begins with what it requires.
        uses = [use for use in uses if use[0] in self._files.sizes and not is_script_path(use[0])]
        found = links_by_names(uses, types, languages)
        return [link for link in found if link[:2] not in known]

    def prefer(self, parts: Collection[str], hub: str) -> None:
        """Order the parts anew: the hub, and those that it draws in itself, weigh more."""
        self._preferred = dict.fromkeys(parts, ENTERED_WEIGHT) | {hub: HUB_WEIGHT}
        self.units = sorted(self.units, key=self._weight, reverse=True)

    def ranks(self) -> dict[str, int]:
        """Return the place of each part by weight, by the name under which its imports are counted."""
        return {self.links.part_of(unit): place for place, unit in reversed(list(enumerate(self.units)))}

    def parts(self, described: int) -> list[Part]:
        """Return the parts; documents where there is no code. Only the first `described` ones tell what they are."""
        told = [self._part(unit) for unit in self.units[:described]]
        rest = [
            Part(unit.path, len(unit.files), unit.lines, None, (), self._largest(unit), _kind(unit))
            for unit in self.units[described:]
        ]
        return [*told, *rest] or self._documents(described)

    def _weight(self, unit: Unit) -> tuple[float, str]:
        """Return the share of a part in the lines, more where many files import it."""
        sizes = self._files.sizes
        total = max(1, sum(sizes.values()))
        importing = len(self.links.users(self.links.part_of(unit))) / max(1, len(sizes))
        # A small file that everybody imports, such as one of errors, is no main part.
        weight = (unit.lines + importing * min(unit.lines, total / self._count)) / total
        # Code in another language than the package's is often taken over, or small beside it in what it does.
        own = self._files.own_languages
        is_other = own and not any(self._files.languages[path] in own for path in unit.files)
        weight *= OTHER_LANGUAGE_WEIGHT if is_other else 1.0
        # Programs are ways in.
        weight *= PROGRAMS_WEIGHT if all(map(is_script_path, unit.files)) else 1.0
        preferred = max(self._preferred.get(name, 1.0) for name in (unit.path, self.links.part_of(unit)))
        return weight * preferred, unit.path

    def _part(self, unit: Unit) -> Part:
        name = self.links.part_of(unit)
        said, names = self._said_of(unit), list[Placed]()
        if said is None:
            users = self.links.users(name) if name == unit.path else {}
            # A number is told of all files or not at all.
            users = users if len(users) <= MAX_IMPORTING_FILES else {}
            names = self._names_used(unit, list(users))
            stands_for_all = (
                bool(names)
                and names[0].about != "file"
                and (
                    _is_called_like(names[0], unit)
                    or (not self._is_small(names[0]) and (unit.is_file or names[0].count > 0))
                )
            )
            said = self._said_of_definition(names[0]) if stands_for_all else None
        alike = self._alike(unit) if said is None or said.about else None
        return Part(unit.path, len(unit.files), unit.lines, said, tuple(names), self._largest(unit), _kind(unit), alike)

    def _is_small(self, named: Placed) -> bool:
        """Return whether a name is that of a function of a few lines, which says nothing of the part around it."""
        return any(
            one.kind == "function" and one.end_line - one.start_line < LEAST_LINES_TELLING
            for one in self._definitions
            if (one.file, one.start_line, one.name) == (named.file, named.start_line, named.text)
        )

    def _alike(self, unit: Unit) -> Placed | None:
        """Return the function or type that most files of a part have each one of, as a file for each command does."""
        if len(unit.files) < LEAST_ALIKE_FILES:
            return None
        inside, files = set(unit.files), dict[str, dict[str, SymbolRecord]]()
        for symbol in self._definitions:
            # In Ruby every file opens the namespace again.
            is_reopened = symbol.kind in CONTAINERS and language_at(symbol.file).name in WITH_MODULES
            if symbol.file in inside and symbol.parent_id is None and symbol.kind in _ALIKE_KINDS and not is_reopened:
                files.setdefault(symbol.name, {}).setdefault(symbol.file, symbol)
        best = max(files.values(), key=lambda found: (len(found), min(found)), default={})
        if len(best) < max(LEAST_ALIKE_FILES, LEAST_SHARE_ALIKE * len(unit.files)):
            return None
        return defined(best[min(best)], len(best))

    def _largest(self, unit: Unit) -> str:
        return max(unit.files, key=lambda path: (self._files.sizes[path], path), default="")

    def _said_of(self, unit: Unit) -> Placed | None:
        files = self._files
        if unit.is_file:
            # A header says what the source beside it does.
            own = dict.fromkeys((unit.path, *unit.files))
            found = (of_file(path, files.read, files.languages.get) for path in own)
            told = next((one for one in found if one is not None), None)
        else:
            documents = [*readmes_of(unit.path, files.paths), *in_folder(unit.path, files.manifests)]
            told = of_folder(unit.path, documents, unit.files, files.read, files.languages.get)
        return None if told is None else Placed(told.said.text, told.file, told.said.start_line, told.said.end_line)

    def _names_used(self, unit: Unit, users: Sequence[str]) -> list[Placed]:
        """Return the names that a part defines and others use most; those used most within it where no file imports it.

        Only a name that is defined once among all parts is counted.
        """
        inside = set(unit.files)
        found = [symbol for symbol in self._definitions if symbol.file in inside]
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

    @functools.cached_property
    def _definitions(self) -> list[SymbolRecord]:
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
        return Counter(symbol.name for symbol in self._definitions)

    def _said_of_definition(self, named: Placed) -> Placed | None:
        symbols = self._files.codebase.symbols_in(named.file)
        symbol = next((one for one in symbols if (one.start_line, one.name) == (named.start_line, named.text)), None)
        if symbol is None or not symbol.docstring:
            return None
        lines = self._files.lines(named.file)
        said = of_definition(lines, symbol.start_line, symbol.end_line, symbol.docstring, symbol.name)
        return None if said is None else Placed(said.text, named.file, said.start_line, said.end_line, named.text)

    def _documents(self, described: int) -> list[Part]:
        """Return documents as parts, for a folder without code."""
        files = self._files
        prose = [path for path in files.paths if language_named(files.languages[path]).role == "prose"]
        found: list[Part] = []
        for path in sorted(prose, key=lambda path: (path.count("/"), path)):
            lines = files.lines(path) if len(found) < described else ()
            at, title = next(headings(lines), (0, ""))
            said = Placed(title, path, at, at) if at and says_something(title, "") else None
            found.append(Part(path, 1, len(lines), said, (), path, "document"))
        return found


def _is_called_like(named: Placed, unit: Unit) -> bool:
    return plain_name(named.text) == plain_name(posixpath.basename(unit.path))


def _kind(unit: Unit) -> PartKind:
    return "file" if unit.is_file else "folder"
