"""Says which definitions may stand for a part of a repository. Pure functions."""

from __future__ import annotations

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.overview.folder_files import Placed

CONTAINERS = frozenset({"class", "struct", "interface", "trait", "enum", "object", "module"})
# Languages in which a module is part of a file, and not the file itself.
WITH_MODULES = frozenset({"ruby"})
_NOT_TOLD = frozenset({"main", "tests"})


def is_shown(symbol: SymbolRecord) -> bool:
    """Return whether a definition is one of its file, and not of a function or method."""
    language = language_at(symbol.file).name
    if symbol.kind == "module" and language not in WITH_MODULES:
        return False
    # `class Depot;` only announces it.
    if language in {"c", "cpp"} and symbol.kind in (*CONTAINERS, "type") and symbol.start_line == symbol.end_line:
        return symbol.kind == "type" and symbol.signature.startswith(("typedef", "using"))
    depth = symbol.qualified_name.count(".")
    deepest = 2 if language in WITH_MODULES else 1
    is_own = symbol.parent_id is None or depth == 0 or (symbol.kind in CONTAINERS and depth <= deepest)
    return is_own and len(symbol.name) > 2 and not symbol.name.startswith("_") and symbol.name not in _NOT_TOLD


def is_hidden(symbol: SymbolRecord) -> bool:
    """Return whether no other file can name a definition: it is `static` in C."""
    return language_at(symbol.file).family == "c" and symbol.signature.startswith("static ")


def plain_name(name: str) -> str:
    """Return a name without what separates its words."""
    return name.replace("_", "").replace("-", "").lower()


def defined(symbol: SymbolRecord, count: int) -> Placed:
    """Return where a definition stands, and how often it is used."""
    return Placed(symbol.name, symbol.file, symbol.start_line, max(symbol.start_line, symbol.name_line), count=count)
