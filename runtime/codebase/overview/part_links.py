"""Counts the imports that lead from one part of a repository to another.

An edge stands for import statements whose target the index has resolved to a file or folder of the repository; each is
counted once for each importing file. Pure functions.
"""

from __future__ import annotations

import functools
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.overview.units import FOR_HEADERS, Unit, unit_of

_WITH_HEADERS = frozenset({"c", "cpp", "objective_c"})
FileLink = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class PartLink:
    """Counts the `files` of the part `source` that import the part `target`; `file` and `line`: one such import."""

    source: str
    target: str
    files: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """Counts the source files that import a file, or a folder that is one package; `file`, `line`: one such import."""

    path: str
    importers: int
    file: str
    line: int


class PartLinks:
    """Holds the imports among the parts of a repository.

    `links`: (importing source file, imported file or folder, line) with resolved targets. In a language that imports
    folders, the files directly in a folder are one package, named by that folder.
    """

    def __init__(
        self, units: Sequence[Unit], links: Iterable[FileLink], is_package_file: Callable[[str], bool]
    ) -> None:
        self._parts = _part_of_each(units, is_package_file)
        self._of_file: dict[str, dict[str, tuple[str, int]]] = {}
        self._edges: dict[tuple[str, str], dict[str, int]] = {}
        self._users: dict[str, dict[str, int]] = {}
        self._from_file: dict[str, dict[str, int]] = {}
        # The pieces of parts that are files, such as a header with what it declares.
        self._pieces = {path: unit.files for unit in units if unit.is_file for path in unit.files}
        for file, target, line in links:
            # A file that speaks for its folder belongs to no part and uses the parts all the same.
            source = self._parts.get(file, "")
            if file == target:
                continue
            self._of_file.setdefault(target, {}).setdefault(file, (file, line))
            self._from_file.setdefault(file, {}).setdefault(target, line)
            into = self._parts.get(target)
            if into is not None and into != source:
                if source:
                    self._edges.setdefault((source, into), {}).setdefault(file, line)
                self._users.setdefault(into, {}).setdefault(file, line)

    def part_of(self, unit: Unit) -> str:
        """Return the name under which a part's imports are counted."""
        return self._parts.get(unit.files[0], unit.path) if unit.is_file and unit.files else unit.path

    @functools.cached_property
    def edges(self) -> list[PartLink]:
        """Return the edges between parts, most importing files first."""
        found = [
            PartLink(source, target, len(users), *min(users.items())) for (source, target), users in self._edges.items()
        ]
        return sorted(found, key=lambda link: (-link.files, link.source, link.target))

    def part_at(self, path: str) -> str:
        """Return the part that a file belongs to; an empty string for one that belongs to none."""
        return self._parts.get(path, "")

    def file_of(self, path: str) -> str:
        """Return the file that a part is called by, if the part is one; any other path as it is."""
        return self._parts[path] if path in self._pieces and self._parts[path] in self._pieces else path

    def edges_from(self, part: str) -> list[PartLink]:
        """Return the edges that lead from a part to others."""
        return [link for link in self.edges if part and link.source == part]

    def files_from(self, file: str) -> dict[str, tuple[str, int]]:
        """Return the files and packages that a file and its pieces import, each with an import: the file and line."""
        found: dict[str, tuple[str, int]] = {}
        for piece in (file, *self._pieces.get(file, ())):
            for target, line in self._from_file.get(piece, {}).items():
                found.setdefault(target, (piece, line))
        return found

    def parts_from(self, file: str) -> dict[str, tuple[str, int]]:
        """Return the other parts that a file and its pieces import, each with an import: the file and line."""
        own, found = self.part_at(file), dict[str, tuple[str, int]]()
        for target, place in sorted(self.files_from(file).items(), key=lambda item: item[1][1]):
            part = self._parts.get(target)
            if part is not None and part != own:
                found.setdefault(part, place)
        return found

    def users(self, part: str) -> Mapping[str, int]:
        """Return the files of other parts that import a part, each with the line of its first import."""
        return self._users.get(part, {})

    def most_imported(self) -> list[ImportedFile]:
        """Return the files and packages that source files import, most importers first."""
        counted = Counter({target: len(files) for target, files in self._of_file.items()})
        ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return [ImportedFile(path, count, *min(self._of_file[path].values())) for path, count in ranked]


def without_guesses(
    links: Iterable[FileLink], languages: Mapping[str, str | None], lines_of: Callable[[str], Sequence[str]]
) -> list[FileLink]:
    """Return the imports without includes of C by a bare name of which it is up to the build what they mean.

    Several folders have a header of that name, or the one that has it is none around the including file and none for
    headers. `languages`: of all files, by their paths.
    """
    by_name: dict[str, list[str]] = {}
    for path, language in languages.items():
        if language in _WITH_HEADERS:
            by_name.setdefault(posixpath.basename(path), []).append(path)
    kept = []
    for file, target, line in links:
        folder, name = posixpath.split(target)
        is_around = f"{posixpath.dirname(file)}/".startswith(f"{folder}/" if folder else "")
        is_told = is_around or posixpath.basename(folder).lower() in FOR_HEADERS
        is_alone = len(by_name.get(name, ())) < 2
        if languages.get(file) not in _WITH_HEADERS or posixpath.dirname(file) == folder or (is_alone and is_told):
            kept.append((file, target, line))
            continue
        text = "".join(lines_of(file)[line - 1 : line])
        if f"{posixpath.basename(folder)}/{name}" in text or (is_around and f"../{name}" in text):
            kept.append((file, target, line))
    return kept


def _part_of_each(units: Sequence[Unit], is_package_file: Callable[[str], bool]) -> dict[str, str]:
    """Map each file, and each folder that is imported as a package, to the name of its part."""
    parts: dict[str, str] = {}
    for path, unit in unit_of(units).items():
        folder = posixpath.dirname(path) or "."
        name = unit.path
        if is_package_file(path):
            name = folder if unit.is_file else unit.path
            parts.setdefault(folder, name)
        parts[path] = name
    return parts
