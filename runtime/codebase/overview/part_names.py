"""Says which definitions may stand for a part of a repository. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Collection

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.overview.folder_files import Placed

CONTAINERS = frozenset({"class", "struct", "interface", "trait", "enum", "object", "module"})
# Languages in which a module is part of a file, and not the file itself.
WITH_MODULES = frozenset({"ruby"})
NAMESAKE_WEIGHT, CONTAINER_WEIGHT, OTHER_KIND_WEIGHT = 4.0, 1.5, 0.5
_NOT_TOLD = frozenset({"main", "tests"})


def is_shown(symbol: SymbolRecord) -> bool:
    """Return whether a definition is one of its file, and not of a function or method."""
    language = language_at(symbol.file).name
    if symbol.kind == "module" and language not in WITH_MODULES:
        return False
    # `typedef struct Depot_ { … } Depot;`: what others call it is the second name.
    if language in {"c", "cpp"} and symbol.name.endswith("_"):
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


def telling(symbol: SymbolRecord, used: float, lines: int, called: Collection[str]) -> float:
    """Return how much a definition tells of the part that it stands in.

    `used`: by how many files; `lines`: of it with its methods; `called`: what the part or the whole is called.
    """
    weight = used * math.log2(2 + lines)
    if plain_name(symbol.name) in called:
        weight *= NAMESAKE_WEIGHT
    if symbol.kind in CONTAINERS:
        weight *= CONTAINER_WEIGHT
    elif symbol.kind not in {"function", "type"}:
        weight *= OTHER_KIND_WEIGHT
    return weight


def is_exported(symbol: SymbolRecord) -> bool:
    """Return whether code outside of its package can name a definition."""
    return language_at(symbol.file).name != "go" or symbol.name[0].isupper()


def plain_name(name: str) -> str:
    """Return a name without what separates its words."""
    return name.replace("_", "").replace("-", "").lower()


def defined(symbol: SymbolRecord, count: int) -> Placed:
    """Return where a definition stands, and how often it is used."""
    return Placed(symbol.name, symbol.file, symbol.start_line, max(symbol.start_line, symbol.name_line), count=count)
