"""Gives the parts of a survey the files of one folder: their paths, languages, texts and metadata."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.codebase.codebase import Codebase
from runtime.codebase.overview.manifests import Manifest, is_manifest, read_manifest
from runtime.codebase.overview.source_files import SourceFiles, sort_files
from runtime.codebase.overview.taken_over import licensed_by_others

_SCRIPTED = ("javascript", "typescript", "tsx", "jsx")
_JAVA = ("java", "kotlin", "scala", "groovy")
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pyproject.toml", "setup.py", "setup.cfg"), ("python", "cython")),
    **{"cargo.toml": ("rust",), "go.mod": ("go",), "package.json": _SCRIPTED, "composer.json": ("php",)},
    **{"gemfile": ("ruby",), "pom.xml": _JAVA, "build.gradle": _JAVA, "build.gradle.kts": _JAVA},
    **{"cmakelists.txt": ("c", "cpp")},
}


@dataclass(frozen=True, slots=True)
class Placed:
    """Holds a text and the lines that bear it out; `about`: what it is or documents, `count`: how often it is used."""

    text: str
    file: str
    start_line: int
    end_line: int
    about: str = ""
    count: int = 0


class FolderFiles:
    """Holds the readable files below a folder; `place` is its path relative to the root, `.` for the root."""

    def __init__(self, codebase: Codebase, place: str) -> None:
        self.codebase = codebase
        self.place = place
        self.prefix = "" if place == "." else f"{place}/"
        below = [file for file in codebase.files() if file.is_readable and file.path.startswith(self.prefix)]
        self.paths = [file.path for file in below]
        self.languages = {file.path: file.language for file in below}
        self._read_manifests: dict[str, Manifest] = {}
        packages = {posixpath.dirname(path) for path in self.manifests}
        licensed = licensed_by_others(self.codebase.readable_paths(), place, packages, self.lines)
        self.sources: SourceFiles = sort_files(below, place, licensed=licensed, links=codebase.file_links)
        self.sizes = self.sources.sizes

    @functools.cached_property
    def own_languages(self) -> frozenset[str]:
        """Return the languages of the packages that the metadata of the repository and the folder declare."""
        names = {posixpath.basename(path).lower() for path in self.codebase.readable_paths() if "/" not in path}
        names |= {posixpath.basename(path).lower() for path in in_folder(self.place, self.manifests)}
        return frozenset(language for name in names for language in _LANGUAGES_OF.get(name, ()))

    @functools.cached_property
    def manifests(self) -> frozenset[str]:
        """Return the paths of all metadata files."""
        return frozenset(path for path in self.paths if is_manifest(path))

    def manifests_of(self, folder: str) -> list[Manifest]:
        """Return what the metadata files directly in a folder declare."""
        return [self._manifest(path) for path in in_folder(folder, self.manifests)]

    def _manifest(self, path: str) -> Manifest:
        if path not in self._read_manifests:
            self._read_manifests[path] = read_manifest(path, self.lines(path))
        return self._read_manifests[path]

    def read(self, path: str) -> Sequence[str] | None:
        """Return the lines of a file, None for one that cannot be read."""
        source = self.codebase.try_source(path)
        return None if source is None else source.lines

    def lines(self, path: str) -> Sequence[str]:
        """Return the lines of a file, none for one that cannot be read."""
        return self.read(path) or ()

    def lines_below(self, folder: str) -> int:
        """Return the number of source lines below a folder, the empty string for the root."""
        return sum(lines for path, lines in self.sizes.items() if not folder or path.startswith(f"{folder}/"))


def in_folder(folder: str, paths: Iterable[str]) -> list[str]:
    """Return those of the paths that lie directly in a folder, in order."""
    return sorted(path for path in paths if (posixpath.dirname(path) or ".") == folder)
