"""Decides whether a use of a method's name on an object of unknown class may mean that method.

Many classes have a `get` or a `stop`. Of such a name a use is taken for possible only if something points to the class:
the object is named like it, or the file mentions it or a class of its family. Of a name that one class alone has, every
use is possible.
"""

from __future__ import annotations

import functools
import re

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import ReferenceRecord, SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.codebase.resolution.builtin_methods import is_named_like, standard_names
from runtime.codebase.resolution.class_family import ClassFamily
from runtime.primitives.dotted_names import last_part

MAX_NAMESAKES = 200
MAX_FAMILY = 200


class PossibleReceivers:
    """Judges uses of the name of one symbol; of a symbol without an owner all are possible."""

    def __init__(self, index: IndexReader, symbol: SymbolRecord) -> None:
        self._index = index
        self._symbol = symbol
        self._owner = last_part(symbol.owner or "")
        language = language_at(symbol.file)
        self._own_objects = frozenset(language.own_object.split())
        self._is_everyday = symbol.name in standard_names(language.name)
        self._mentions_family = functools.cache(self._is_family_mentioned)
        # Hundreds of uses have the same few objects.
        self._is_named_after_family = functools.cache(self._is_any_named_like)

    @functools.cached_property
    def is_shared(self) -> bool:
        """Return whether other classes, or everyday types of the language, have a member of that name."""
        named = self._index.symbols_of_name(self._symbol.name, MAX_NAMESAKES)
        owners = {last_part(other.owner) for other in named if other.owner and other.name == self._symbol.name}
        return self._is_everyday or len(owners | {self._owner}) > 1

    def reads_line(self, use: ReferenceRecord) -> bool:
        """Return whether `allow` needs the text of a use's line."""
        return not use.qualifier and self._is_member and not use.proof and self.is_shared

    def allow(self, use: ReferenceRecord, line: str) -> bool:
        """Return whether a use may mean the symbol; `line`: its text, for what stands before the name."""
        if not self._is_member or use.proof or not self.is_shared:
            return True
        around = set((use.enclosing or "").split(".")[:-1])
        receiver = last_part(use.qualifier) or _before(line, self._symbol.name)
        if receiver is None or receiver in self._own_objects:
            # A bare name means a member only within its class.
            return bool(around & self._family) or (receiver is not None and not around and self._is_near(use.file))
        return self._is_named_after_family(receiver) or self._is_near(use.file)

    @functools.cached_property
    def _is_member(self) -> bool:
        """Return whether the symbol is a member of a type: what is defined within a function is used there."""
        holder = self._index.symbol(self._symbol.parent_id) if self._symbol.parent_id is not None else None
        return bool(self._owner) and (holder is None or holder.kind not in CALLABLE_KINDS)

    def _is_near(self, file: str) -> bool:
        """Return whether a file mentions the family; for a name of an everyday type that says nothing."""
        return not self._is_everyday and self._mentions_family(file)

    @functools.cached_property
    def _family(self) -> frozenset[str]:
        """Return the class, its bases and heirs, if the repository defines them: `dict` points to no class of it."""
        family = ClassFamily(self._index, self._owner, self._symbol.file, self._symbol.name)
        names = family.names(self._owner, MAX_FAMILY)
        return frozenset(
            name for name in names if any(one.name == name for one in self._index.symbols_of_name(name, 5))
        )

    def _is_any_named_like(self, receiver: str) -> bool:
        return any(is_named_like(receiver, name) for name in self._family)

    def _is_family_mentioned(self, file: str) -> bool:
        names = sorted(self._family)
        marks = ", ".join("?" * len(names))
        return bool(
            self._index.references(f"f.path = ? AND r.name IN ({marks})", (file, *names), 1)
            or self._index.imports(f"f.path = ? AND i.name IN ({marks})", (file, *names), 1)
            or self._index.symbols(f"f.path = ? AND s.name IN ({marks})", (file, *names), 1)
        )


def _before(line: str, name: str) -> str | None:
    """Return the last name before `.name` in a line, empty for other expressions; None where the name stands alone."""
    joined = re.search(rf"([\w$]*)(?:\([^()]*\))?\s*(?:\.|->|::)\s*{re.escape(name)}(?![\w$])", line)
    return joined[1] if joined else None
