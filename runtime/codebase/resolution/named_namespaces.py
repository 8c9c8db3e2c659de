"""Tells which lines mean a class of the same name in another namespace.

`\\PHPUnit\\Framework\\TestCase` is not `Monolog\\Test\\TestCase`, nor is `TestCase` below an import of the former. A
name relative to an import or to the file's own namespace may mean anything, and is left in.
"""

from __future__ import annotations

import functools
import re

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ReferenceRecord, SymbolRecord
from runtime.codebase.language_registry import language_at, language_named

_IMPORT = re.compile(r"\s*use\s+\\?\w+\\")
_SEGMENT = r"(?<![\w\\])(?P<ahead>\\?(?:\w+\\)*)"


class NamedNamespace:
    """Tells lines that mean one class from those that name another one so.

    It does where files declare a namespace, and names begin with `\\` that are whole; elsewhere any line may mean it.
    """

    def __init__(self, index: IndexReader, read: ReadSource, symbol: SymbolRecord | None) -> None:
        self._read = read
        self._imports_of = functools.cache(lambda file: index.imports("f.path = ?", (file,)))
        self._name = symbol.name if symbol is not None and not symbol.owner else ""
        self._language = language_at(symbol.file) if symbol is not None else language_named(None)
        declares = self._language.declares_namespace
        source = read(symbol.file) if symbol is not None and self._name and declares else None
        found = None if source is None else re.search(declares, source.text, re.MULTILINE)
        self._namespace = "" if found is None else found["name"].lower()
        self._mention = re.compile(rf"{_SEGMENT}{re.escape(self._name)}(?!\w)")

    def allows(self, use: ReferenceRecord) -> bool:
        """Return whether the line of a use may name the class."""
        source = self._read(use.file) if self._namespace else None
        return source is None or use.line > len(source.lines) or self.may_mean(use.file, source.lines[use.line - 1])

    def may_mean(self, file: str, line: str) -> bool:
        """Return whether a line of a file may name the class; True where its namespace is not known."""
        if not self._namespace or language_at(file) is not self._language:
            return True
        ahead = [mention["ahead"] for mention in self._mention.finditer(line)]
        if _IMPORT.match(line):
            # What is imported is named whole.
            ahead = ["\\" + one.lstrip("\\") for one in ahead]
        return not ahead or any(self._is_own(file, one) for one in ahead)

    def _is_own(self, file: str, ahead: str) -> bool:
        if ahead.startswith("\\"):
            return ahead.strip("\\").lower() in ("", self._namespace)
        return bool(ahead) or not self._imports_another(file)

    def _imports_another(self, file: str) -> bool:
        """Return whether a file brings a class of the same name from another namespace under that name."""
        brought = [one.module.strip("\\").lower() for one in self._imports_of(file) if not one.alias]
        same = [module.rpartition("\\")[0] for module in brought if module.rpartition("\\")[2] == self._name.lower()]
        return bool(same) and self._namespace not in same
