"""Decides which Python uses of a name can mean a definition, by scopes, imports and receiver classes.

Nothing is executed. The file's own evidence of an object's class is trusted: an annotation, a call of a class, a
literal, `self`. A use on an object of unknown class can mean any method of that name, and is kept.
"""

from __future__ import annotations

import builtins
import functools
import posixpath
import time
from collections.abc import Callable, Iterable, Sequence

from runtime.codebase.files.source_text import ReadSource, SourceText
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ImportRecord, ReferenceRecord, SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.resolution.class_family import ClassFamily
from runtime.codebase.resolution.python_uses import PythonFile, Use
from runtime.primitives.dotted_names import last_part
from runtime.primitives.sized_cache import SizedCache

ImportsOf = Callable[[str], Sequence[ImportRecord]]

MAX_REEXPORTS = 3
MAX_READ_FILES = 300
READ_TIMEOUT_S = 5.0
# A syntax tree takes some 26 times the memory of its text: 65 MB for these.
MAX_CACHED_CHARS = 2_500_000
_BUILTINS = frozenset(name for name in dir(builtins) if isinstance(getattr(builtins, name), type)) | {
    "None",
    "open",
    "sorted",
}


_parsed: SizedCache[str, PythonFile] = SizedCache(MAX_CACHED_CHARS)


def python_file(source: SourceText, limit: ParseLimit = PARSE_LIMIT) -> PythonFile | None:
    """Return the parsed file, cached by its content; None if it takes too long to parse."""
    made = _parsed.get(source.sha256)
    if made is None:
        try:
            made = PythonFile(source.text, limit)
        except BrokenTreeError:
            return None
        _parsed.put(source.sha256, made, len(source.text))
    return made


def aliases_of(symbol: SymbolRecord, importing: Iterable[ImportRecord]) -> dict[str, set[str]]:
    """Return the aliases under which files import a top-level definition, each with those files."""
    names: dict[str, set[str]] = {}
    for item in importing:
        if item.name == symbol.name and item.alias and item.alias != symbol.name:
            names.setdefault(item.alias, set()).add(item.file)
    return names


class FileUses:
    """Finds every use of a name, file by file; after 300 files, or five seconds, further files are not read."""

    def __init__(self, read: ReadSource, limit: ParseLimit = PARSE_LIMIT) -> None:
        self._read = read
        self._limit = limit
        self._by_line: dict[tuple[str, str], dict[int, list[Use]]] = {}
        self._files: set[str] = set()
        self._deadline_s = time.monotonic() + READ_TIMEOUT_S

    def of(self, file: str, name: str) -> dict[int, list[Use]] | None:
        """Return every use of a name in a file by line; None for a file that is not read, or not parsed in time."""
        if (file, name) not in self._by_line:
            is_over = len(self._files) >= MAX_READ_FILES or time.monotonic() > self._deadline_s
            if is_over and file not in self._files:
                return None
            self._files.add(file)
            source = self._read(file)
            parsed = python_file(source, self._limit) if source is not None else None
            if source is not None and parsed is None:
                return None
            by_line: dict[int, list[Use]] = {}
            for use in parsed.uses(name) if parsed is not None else ():
                by_line.setdefault(use.line, []).append(use)
            self._by_line[file, name] = by_line
        return self._by_line[file, name]


class AnyMeaning:
    """Filters the uses of a name without a chosen definition: only names local to a function are excluded."""

    def __init__(self, index: IndexReader, read: ReadSource, name: str) -> None:
        self.uses = FileUses(read)
        self._inside = any(s.owner and s.kind == "function" for s in index.symbols_of_name(name))

    def includes(self, reference: ReferenceRecord) -> bool:
        """Return False for a local variable, a parameter, or no code at all."""
        if not language_at(reference.file).is_scoped or reference.kind == "import":
            return True
        uses = self.uses.of(reference.file, reference.name)
        here = uses.get(reference.line, ()) if uses is not None else ()
        return uses is None or any(use.qualifier or self._inside or use.where != "local" for use in here)


class Meaning:
    """Filters the uses that can mean one definition; uses in a file that is not read are included."""

    def __init__(self, index: IndexReader, read: ReadSource, symbol: SymbolRecord) -> None:
        self.uses = FileUses(read)
        self._index = index
        self._symbol = symbol
        self._imports_of: ImportsOf = functools.cache(lambda file: index.imports("f.path = ?", (file,)))
        parent = index.symbol(symbol.parent_id) if symbol.owner and symbol.parent_id is not None else None
        self._owner_class = parent.name if parent is not None and parent.kind == "class" else ""
        self._family = ClassFamily(index, self._owner_class, symbol.file, symbol.name)
        self._is_class = functools.cache(lambda name: any(s.kind == "class" for s in index.symbols_of_name(name, 50)))

    def includes(self, reference: ReferenceRecord) -> bool:
        """Return False if the scopes of the file rule out that the reference means the definition."""
        if not language_at(reference.file).is_scoped:
            return True
        uses = self.uses.of(reference.file, reference.name)
        if uses is None:
            return True
        return any(self.may_be(use, reference.file, reference.name) for use in uses.get(reference.line, ()))

    def may_be(self, use: Use, file: str, name: str) -> bool:
        """Return True if one use of a name in a file can mean the definition."""
        symbol = self._symbol
        if self._owner_class:
            return self._may_be_member(use, file)
        if symbol.owner:
            return not use.qualifier and use.where == "local" and file == symbol.file and self._is_inside(use)
        return self._may_be_top_level(use, file, name)

    def _is_inside(self, use: Use) -> bool:
        parent = self._index.symbol(self._symbol.parent_id or 0)
        return parent is not None and parent.start_line <= use.line <= parent.end_line

    def _may_be_top_level(self, use: Use, file: str, name: str) -> bool:
        same_file = file == self._symbol.file
        if not use.qualifier:
            if use.where in ("local", "class"):
                return False
            if use.where == "module":
                return same_file
            return same_file or brings(file, name, self._symbol, self._imports_of)
        if use.is_self or use.is_super or use.receivers or use.where in ("local", "class", "module"):
            return False
        head, _, rest = use.qualifier.partition(".")
        bound = [item for item in self._imports_of(file) if bound_name(item) == head and item.target is not None]
        if rest:
            return bool(bound) and last_part(rest) == _module_name(self._symbol.file)
        return any(leads_to(item, self._symbol, self._imports_of) for item in bound)

    def _may_be_member(self, use: Use, file: str) -> bool:
        if not use.qualifier:
            inside = self._is_inside(use) and file == self._symbol.file
            return inside and use.where == "class"
        if use.is_super:
            return self._family.inherits(_last(use.owner), file)
        if use.is_self:
            return self._family.includes(_last(use.owner), file)
        if use.receivers:
            known = [self._class_named(name, file) for name in use.receivers]
            return any(name is None or self._family.includes(name, file) for name in known)
        return use.where != "import" or self._imported_may_have_it(use, file)

    def _class_named(self, name: str, file: str) -> str | None:
        """Return the class that a file means by a name; None if it is not known."""
        items = [item for item in self._imports_of(file) if bound_name(item) == name]
        real = next((item.name for item in items if item.name and item.name != "*"), name)
        outside = bool(items) and all(item.target is None for item in items)
        return real if outside or real in _BUILTINS or self._is_class(real) else None

    def _imported_may_have_it(self, use: Use, file: str) -> bool:
        """Return True if an imported qualifier can be an object of the class, or the class itself."""
        head, _, rest = use.qualifier.partition(".")
        items = [item for item in self._imports_of(file) if bound_name(item) == head]
        if items and all(item.target is None for item in items):
            return any(self._family.includes(item.name, file) for item in items if item.name)
        last = _last(rest) if rest else next((item.name for item in items if item.name), "")
        if self._is_class(last):
            return self._family.includes(last, file)
        # A module has no methods; what it holds may be an object of any class.
        return bool(rest) or not any(_is_module(item, head) for item in items)


def _last(dotted: str) -> str:
    return last_part(dotted)


def _module_name(file: str) -> str:
    stem = posixpath.splitext(posixpath.basename(file))[0]
    return posixpath.basename(posixpath.dirname(file)) if stem == "__init__" else stem


def _is_module(item: ImportRecord, head: str) -> bool:
    return not item.name or (item.target is not None and _module_name(item.target) == (item.name or head))


def bound_name(item: ImportRecord) -> str:
    """Return the name that an import binds in its file: `import a.b` binds `a`."""
    return item.alias or item.name or item.module.partition(".")[0]


def brings(file: str, name: str, symbol: SymbolRecord, imports_of: ImportsOf, depth: int = 0) -> bool:
    """Return True if a file's imports bind `name` to the symbol, through up to three re-exporting files."""
    for item in imports_of(file):
        if item.name != "*" and bound_name(item) != name:
            continue
        if item.target == symbol.file and item.name in ("*", symbol.name):
            return True
        handed_on = item.name if item.name != "*" else name
        may_hand_on = item.target is not None and item.target != file and depth < MAX_REEXPORTS and handed_on
        if item.target and may_hand_on and brings(item.target, handed_on, symbol, imports_of, depth + 1):
            return True
    return False


def leads_to(item: ImportRecord, symbol: SymbolRecord, imports_of: ImportsOf) -> bool:
    """Return True if an import binds the symbol's module, or a package that re-exports the symbol."""
    if item.target is None:
        return False
    return item.target == symbol.file or brings(item.target, symbol.name, symbol, imports_of, 1)
