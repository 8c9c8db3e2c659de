"""Resolves the calls within a symbol to definitions, by the receiver and context of each call.

Nothing is executed and no types are inferred: the evidence is a call's receiver, the imports of the file, and the types
that the caller takes or creates. A definition for which only the name is evidence is marked `by_name`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import Callee, ImportRecord, ReferenceRecord, SymbolRecord
from runtime.codebase.language_registry import all_words, language_at, may_call
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS
from runtime.codebase.resolution.builtin_methods import is_named_like
from runtime.primitives.dotted_names import last_part

_CALLED = sorted(CALLABLE_KINDS | CONTAINER_KINDS)
_CALLED_MARKS = ", ".join("?" * len(_CALLED))
_WORD = re.compile(r"\w+")
_TYPE_NAME = re.compile(r"[A-Z]\w*")
_ASIDE = frozenset({"test", "example", "benchmark", "docs"})


def own_object() -> frozenset[str]:
    """Return the receivers by which a method refers to its own object or class, in any language."""
    return all_words("own_object")


def callees(index: IndexReader, symbol: SymbolRecord, limit: int) -> list[Callee]:
    """Return the calls in the lines of a symbol, each name and qualifier once."""
    where = "f.path = ? AND r.line BETWEEN ? AND ? AND r.kind = 'call'"
    calls = index.references(where, (symbol.file, symbol.start_line, symbol.end_line))
    first_uses = {(call.name, call.qualifier): call for call in reversed(calls)}
    in_order = sorted(first_uses.values(), key=lambda call: (call.line, call.name))[:limit]
    if not in_order:
        return []
    imported = {item.alias or item.name or item.module: item for item in index.imports("f.path = ?", (symbol.file,))}
    # Types that the symbol mentions: those of its parameters, and those that it instantiates.
    spoken_of = {*_WORD.findall(symbol.signature), *(call.name for call in calls)}
    found = [(call, _definition_of(index, call, symbol, imported)) for call in in_order]
    return [
        Callee(call.name, call.line, call.qualifier, means, _is_by_name(call, means, symbol, imported, spoken_of))
        for call, means in found
    ]


def _is_by_name(
    call: ReferenceRecord,
    found: SymbolRecord | None,
    inside: SymbolRecord,
    imported: dict[str, ImportRecord],
    spoken_of: Collection[str],
) -> bool:
    """Return True if neither the receiver nor the caller gives evidence of the type that defines the method."""
    if found is None or not call.qualifier or not found.owner or call.qualifier in own_object():
        return False
    if last_part(found.owner) in {*spoken_of, *_WORD.findall(call.qualifier)}:
        return False
    if call.qualifier.partition(".")[0] in imported or is_named_like(call.qualifier, found.owner):
        return False
    return not (language_at(inside.file).names_own_object and found.owner == inside.owner)


def _definition_of(
    index: IndexReader, call: ReferenceRecord, inside: SymbolRecord, imported: dict[str, ImportRecord]
) -> SymbolRecord | None:
    via = imported.get(call.qualifier.partition(".")[0] or call.name)
    own_class = inside.owner if inside.kind in CALLABLE_KINDS else inside.qualified_name
    if via is None and _is_of_the_language(index, call.qualifier, inside.file):
        return None
    candidates = _meant_by(index, call, inside, own_class, is_imported=via is not None)
    if not candidates:
        return None

    def points(candidate: SymbolRecord) -> int:
        same_file = candidate.file == inside.file
        total = 2 * same_file + (kind_of_path(candidate.file) == "source")
        if via is not None and via.target is not None:
            total += 6 * (candidate.file == via.target or posixpath.dirname(candidate.file) == via.target)
        if call.qualifier in own_object():
            total += 6 * (same_file and bool(own_class) and candidate.owner == own_class) + bool(candidate.owner)
        elif call.qualifier:
            total += 4 * (last_part(candidate.owner) == last_part(call.qualifier))
        else:
            total += 3 * (same_file and not candidate.owner)
        return total

    best = max(candidates, key=lambda candidate: (points(candidate), -candidate.id))
    outside = via is not None and via.target is None
    is_clear = points(best) >= 4 or (len(candidates) == 1 and not outside)
    return best if is_clear and not (outside and best.file != inside.file) else None


def _meant_by(
    index: IndexReader, call: ReferenceRecord, inside: SymbolRecord, own_class: str, *, is_imported: bool
) -> list[SymbolRecord]:
    """Return the definitions that a call can mean: of its name, filtered by its receiver and its place."""
    named = index.symbols(f"s.name = ? COLLATE NOCASE AND s.kind IN ({_CALLED_MARKS})", (call.name, *_CALLED), 400)
    found = [symbol for symbol in named if symbol.name == call.name and may_call(inside.file, symbol.file)]
    if not call.qualifier:
        # A bare name never means the method of another class.
        found = [
            symbol
            for symbol in found
            if not symbol.owner
            or symbol.owner in (own_class, inside.qualified_name)
            or (symbol.kind == "function" and language_at(symbol.file).has_namespaced_functions)
        ]
    if not is_imported and call.name in language_at(inside.file).builtin_methods:
        found = [symbol for symbol in found if _is_no_standard_call(call, symbol, inside)]
    if kind_of_path(inside.file) == "source":
        # Examples and tests call the sources, not the other way round.
        found = [symbol for symbol in found if kind_of_path(symbol.file) not in _ASIDE]
    return found


def _is_no_standard_call(call: ReferenceRecord, symbol: SymbolRecord, inside: SymbolRecord) -> bool:
    """Return True if its receiver or place allows a call of an everyday method's name to mean a definition."""
    if call.qualifier in own_object() or (language_at(inside.file).names_own_object and symbol.owner == inside.owner):
        return True
    if not call.qualifier:
        return symbol.file == inside.file or not language_at(inside.file).calls_builtins_bare
    return is_named_like(call.qualifier, symbol.owner)


def _is_of_the_language(index: IndexReader, qualifier: str, file: str) -> bool:
    """Return True for a type that the repository does not define, like `Object` in `Object.create()`."""
    if not language_at(file).has_global_types or qualifier in own_object() or _TYPE_NAME.fullmatch(qualifier) is None:
        return False
    return not any(symbol.name == qualifier for symbol in index.symbols_of_name(qualifier, 50))
