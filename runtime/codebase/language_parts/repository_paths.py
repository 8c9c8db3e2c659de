"""Looks up a repository's files and folders by path, for the import resolvers."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

_T = TypeVar("_T")


class RepositoryPaths:
    """Looks up files and folders of one set of paths, relative to the root.

    `root_name` is the name of the root folder. `declared_modules` maps, by language, folders (empty string for the
    root) to the module name that a file in them declares, as a `go.mod` does; `rooted` holds those of these folders in
    which paths begin at the root of the package.
    """

    def __init__(
        self,
        paths: Collection[str],
        root_name: str = "",
        declared_modules: Mapping[str, Mapping[str, str]] | None = None,
        rooted: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.paths = frozenset(paths)
        self.root_name = root_name
        self.declared_modules = dict(declared_modules or {})
        self.rooted = dict(rooted or {})
        self.folders = frozenset(folder for path in self.paths for folder in _folders_above(path))
        self._kept: dict[Callable[[RepositoryPaths], Any], Any] = {}

    def is_rooted(self, language: str, file: str) -> bool:
        """Return whether the nearest package of a language around a file is one whose paths begin at its root."""
        folder, declared = posixpath.dirname(file), self.declared_modules.get(language, {})
        while folder and folder not in declared:
            folder = posixpath.dirname(folder)
        return folder in self.rooted.get(language, ())

    def first(self, candidates: Iterable[str]) -> str | None:
        """Return the first of the candidates that is a file, or None."""
        return next((path for path in candidates if path in self.paths), None)

    def ending(self, tail: str, near: str) -> str | None:
        """Return the file whose path is `tail` or ends in it; of several, the one closest to `near`."""
        found = [
            path
            for path in self.kept(_files_by_name).get(posixpath.basename(tail), ())
            if path == tail or path.endswith("/" + tail)
        ]
        return min(found, key=lambda path: (-len(posixpath.commonprefix([path, near])), len(path), path), default=None)

    def beside(self, importer: str, path: str) -> str:
        """Resolve a path relative to the folder of the importing file."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))

    def kept(self, build: Callable[[RepositoryPaths], _T]) -> _T:
        """Return the result of `build` for these paths, computed once."""
        if build not in self._kept:
            self._kept[build] = build(self)
        made: _T = self._kept[build]
        return made


def _files_by_name(repository: RepositoryPaths) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for path in sorted(repository.paths):
        by_name.setdefault(posixpath.basename(path), []).append(path)
    return by_name


def _folders_above(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
