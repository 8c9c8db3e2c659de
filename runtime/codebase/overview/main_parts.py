"""Describes the main parts of a folder by their own sentences, or by the names that others use most."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from runtime.codebase.language_registry import all_words, language_at, language_named
from runtime.codebase.overview.descriptions import of_file, of_folder, readmes_of, says_something
from runtime.codebase.overview.entry_points import is_script_path
from runtime.codebase.overview.folder_files import FolderFiles, Placed, in_folder
from runtime.codebase.overview.named_links import NAMING, links_by_names, single_types
from runtime.codebase.overview.part_definitions import MAX_IMPORTING_FILES, PartDefinitions
from runtime.codebase.overview.part_links import PartLinks, without_guesses
from runtime.codebase.overview.part_names import plain_name
from runtime.codebase.overview.prose_lines import headings
from runtime.codebase.overview.units import Unit, bodies_of, divide

OTHER_LANGUAGE_WEIGHT = 0.2
PROGRAMS_WEIGHT = 0.1
ENTERED_WEIGHT, HUB_WEIGHT = 2.0, 4.0

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
        self._definitions = PartDefinitions(files)
        packages = {posixpath.dirname(path) or "." for path in files.manifests} - {files.place}
        links = [link for link in files.codebase.file_links() if link[0] in files.sizes]
        links = [*without_guesses(links, files.languages, files.lines), *self._links_by_names(links)]
        heads, bodies = all_words("head_files"), bodies_of(files.sizes, links)
        units = divide(files.sizes, files.place, packages=packages, heads=heads, bodies=bodies)
        self.links = PartLinks(units, links, lambda path: language_at(path).imports_folders)
        self._count = max(1, len(units))
        self._preferred: Mapping[str, float] = {}
        self.units = sorted(units, key=self._weight, reverse=True)

    def _links_by_names(self, links: Collection[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
        """Return the uses of others' types, where files need no import for these, that are no imports as well."""
        languages = self._files.languages
        if not any(languages[path] in NAMING for path in self._files.sizes):
            return []
        types = single_types(self._definitions.all, languages)
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
            names = self._definitions.names_used(unit, list(users))
            stands_for_all = (
                bool(names)
                and names[0].about != "file"
                and (
                    _is_called_like(names[0], unit)
                    or (not self._definitions.is_small(names[0]) and (unit.is_file or names[0].count > 0))
                )
            )
            said = self._definitions.said_of(names[0]) if stands_for_all else None
        alike = self._definitions.alike(unit) if said is None or said.about else None
        return Part(unit.path, len(unit.files), unit.lines, said, tuple(names), self._largest(unit), _kind(unit), alike)

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
