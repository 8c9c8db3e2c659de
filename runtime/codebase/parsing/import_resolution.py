"""Resolves imports to files of the repository by their paths.

`ImportResolver(paths).resolve(importer, language, module, name)` returns a path relative to the root, a folder for Go
packages, or None for anything outside. The language records define the rules. Nothing is executed and no search path
of the machine is consulted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_registry import language_named


class ImportResolver:
    """Resolves imports within one set of files.

    `root_name` is the name of the root folder, which is the package's name when the root itself holds an `__init__.py`;
    `declared_modules` maps, by language, folders with a file such as `go.mod` (empty string for the root) to the module
    name that it declares; `rooted`: those of these folders in which paths begin at the root of the package.
    """

    def __init__(
        self,
        paths: Collection[str],
        root_name: str = "",
        declared_modules: Mapping[str, Mapping[str, str]] | None = None,
        rooted: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._repository = RepositoryPaths(paths, root_name, declared_modules, rooted)

    def resolve(self, importer: str, language: str | None, module: str, name: str = "") -> str | None:
        """Return the imported file or Go package folder, or None."""
        resolve = language_named(language).resolve_import
        return resolve(self._repository, importer, module, name) if resolve is not None else None

    def declared(self, language: str) -> Mapping[str, str]:
        """Return the module names that files of a language declare, by their folder."""
        return self._repository.declared_modules.get(language, {})

    def is_rooted(self, language: str, file: str) -> bool:
        """Return whether the imports of a file begin at the root of its package."""
        return self._repository.is_rooted(language, file)
