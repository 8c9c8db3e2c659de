"""Finds base classes and subclasses by name, to decide whose method a call on an object can mean.

Bases are known by their last name alone, so classes of the same name in different files count as one, unless the
calling file defines its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from runtime.codebase.index.reader import IndexReader
from runtime.primitives.dotted_names import last_part

MAX_CLASSES = 500


class ClassFamily:
    """Relates classes to the class `owner` in `file`, which defines `member`."""

    def __init__(self, index: IndexReader, owner: str, file: str, member: str) -> None:
        self._index = index
        self._owner = owner
        self._file = file
        self._member = member
        self._bases = functools.cache(self._find_bases)
        self._heirs = functools.cache(self._find_heirs)
        self._definers = functools.cache(self._find_definers)

    def includes(self, name: str, file: str) -> bool:
        """Return True if `member`, on an object that a file knows as of class `name`, can be the owner's."""
        if name == self._owner:
            return file == self._file or not self._is_defined_in(name, file)
        if self._owner in _reached(name, self._bases):
            return self.inherits(name, file, own_too=True)
        if name in _reached(self._owner, self._bases):
            return True
        # Two classes that a third one joins: either may call what the other has.
        below = _reached(self._owner, self._heirs)
        return bool(below and below & _reached(name, self._heirs))

    def inherits(self, name: str, file: str, *, own_too: bool = False) -> bool:
        """Return True if looking up `member` in a class's bases (`own_too`: first in itself) reaches the owner's."""
        if name in self._definers(self._member) and own_too and name != self._owner:
            return False
        seen: set[str] = set()
        level = [name] if own_too else sorted(self._bases(name))
        while level and len(seen) < MAX_CLASSES:
            if self._owner in level:
                return True
            seen.update(level)
            defining = self._definers(self._member)
            level = sorted({base for one in level if one not in defining for base in self._bases(one)} - seen)
        return False

    def names(self, name: str, limit: int) -> frozenset[str]:
        """Return a class with all its bases and heirs by name, at most `limit`, the nearest first."""
        found = [name, *sorted(_reached(name, self._bases)), *sorted(_reached(name, self._heirs))]
        return frozenset(found[:limit])

    def _is_defined_in(self, name: str, file: str) -> bool:
        return any(symbol.kind == "class" and symbol.file == file for symbol in self._index.symbols_of_name(name, 50))

    def _find_bases(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        for symbol in self._index.symbols_of_name(name, 50):
            if symbol.kind == "class" and symbol.name == name:
                where = "f.path = ? AND r.line BETWEEN ? AND ? AND r.kind = 'base'"
                bases = self._index.references(where, (symbol.file, symbol.start_line, symbol.end_line), 200)
                names = {base.name for base in bases if base.enclosing_id == symbol.id}
                found.update(self._real_name(symbol.file, base) for base in names)
        return frozenset(found - {name})

    def _real_name(self, file: str, name: str) -> str:
        """Return the defined name of a class that the file may have imported under an alias."""
        items = self._index.imports("f.path = ? AND i.alias = ?", (file, name), 1)
        return items[0].name if items and items[0].name else name

    def _find_heirs(self, name: str) -> frozenset[str]:
        heirs = self._index.references("r.name = ? AND r.kind = 'base'", (name,), MAX_CLASSES)
        for item in self._index.imports("i.name = ? AND i.alias NOT IN ('', i.name)", (name,), 100):
            where = "f.path = ? AND r.name = ? AND r.kind = 'base'"
            heirs += self._index.references(where, (item.file, item.alias), MAX_CLASSES)
        return frozenset(last_part(heir.enclosing) for heir in heirs if heir.enclosing) - {name}

    def _find_definers(self, member: str) -> frozenset[str]:
        symbols = self._index.symbols_of_name(member)
        return frozenset(last_part(s.owner) for s in symbols if s.owner and s.name == member)


def _reached(name: str, step: Callable[[str], frozenset[str]]) -> set[str]:
    """Return all names reachable by steps, without the first one."""
    seen: set[str] = set()
    open_names = [name]
    while open_names and len(seen) < MAX_CLASSES:
        fresh = step(open_names.pop()) - seen - {name}
        seen |= fresh
        open_names.extend(fresh)
    return seen
