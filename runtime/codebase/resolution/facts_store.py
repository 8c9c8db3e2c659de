"""Reads the type facts of files from the index, and resolves their imports."""

from __future__ import annotations

import functools
import logging
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.language_parts.type_facts import FileFacts, decoded
from runtime.codebase.language_parts.type_rules import TypeRules
from runtime.codebase.language_registry import language_named
from runtime.codebase.parsing.import_resolution import ImportResolver

log = logging.getLogger(__name__)

_CACHED_FILES = 1_000
_NO_FACTS = FileFacts()


class FactsStore:
    """Reads type facts by file. Made for one generation of an index."""

    def __init__(self, index: IndexReader, make_resolver: Callable[[], ImportResolver]) -> None:
        self.index = index
        self._make_resolver = make_resolver
        self._facts: OrderedDict[str, FileFacts | None] = OrderedDict()
        self.resolve = functools.lru_cache(maxsize=20_000)(self._resolve)
        self.symbol_of = functools.lru_cache(maxsize=20_000)(self._symbol_of)
        self.language = functools.lru_cache(maxsize=20_000)(self._language)

    @functools.cached_property
    def _resolver(self) -> ImportResolver:
        return self._make_resolver()

    @functools.cached_property
    def files(self) -> dict[str, str]:
        """Return the files with text, each with its language."""
        return {file.path: file.language or "" for file in self.index.files() if file.is_readable}

    @functools.cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        for path in self.files:
            folders.setdefault(path.rpartition("/")[0], []).append(path)
        return folders

    @functools.cached_property
    def _by_package(self) -> dict[tuple[str, str], list[str]]:
        packages: dict[tuple[str, str], list[str]] = {}
        rows = self.index.rows("SELECT f.path, f.language, t.package FROM facts t JOIN files f ON f.id = t.file_id")
        for path, language, package in sorted(rows):
            packages.setdefault((language, package), []).append(path)
        return packages

    def in_folder(self, folder: str) -> list[str]:
        """Return the files of a folder, by path."""
        return self._by_folder.get(folder, [])

    def in_package(self, language: str, package: str) -> list[str]:
        """Return the files of a language that declare a package, by path."""
        return self._by_package.get((language, package), [])

    def facts(self, path: str) -> FileFacts | None:
        """Return the facts of a file; None for one without."""
        if path in self._facts:
            self._facts.move_to_end(path)
            return self._facts[path]
        found = self.index.rows("SELECT t.data FROM facts t JOIN files f ON f.id = t.file_id WHERE f.path = ?", (path,))
        made: FileFacts | None = None
        if found:
            try:
                made = decoded(found[0][0])
            except (msgspec.MsgspecError, zlib.error) as error:
                # A damaged row: names of this file are resolved as those of a language without facts.
                log.warning("facts.unreadable", extra={"path": path, "error": str(error)})
        self._facts[path] = made
        while len(self._facts) > _CACHED_FILES:
            self._facts.popitem(last=False)
        return made

    def rules(self, path: str) -> TypeRules | None:
        """Return the rules of a file's language; None for one without."""
        return language_named(self.language(path)).types

    def _language(self, path: str) -> str:
        return self.files.get(path, "")

    def _resolve(self, importer: str, module: str, name: str = "") -> str | None:
        return self._resolver.resolve(importer, self.language(importer), module, name)

    def is_rooted(self, file: str) -> bool:
        """Return whether the imports of a file begin at the root of its package, as in Rust 2015."""
        return self._resolver.is_rooted(self.language(file), file)

    def declared(self, language: str) -> Mapping[str, str]:
        """Return the module names that a language's files declare, by their folder."""
        return self._resolver.declared(language)

    def _symbol_of(self, path: str, name: str, line: int) -> SymbolRecord | None:
        found = self.index.symbols("f.path = ? AND s.name_line = ? AND s.name = ?", (path, line, name), 1)
        return found[0] if found else None
