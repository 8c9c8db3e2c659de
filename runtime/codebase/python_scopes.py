"""Which Python calls can mean a definition, by the scopes of the calling file: imports, aliases, own definitions.

Nothing is executed and no types are inferred: a call on an object of unknown type can mean any method of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runtime.codebase.index_records import ImportRecord, ReferenceRecord, SymbolRecord

ImportsOf = Callable[[str], Sequence[ImportRecord]]

MAX_REEXPORTS = 3


def may_mean(call: ReferenceRecord, symbol: SymbolRecord, imports_of: ImportsOf) -> bool:
    """False when the scope of a call rules a definition out.

    A bare name never means a method. In another file it means a top-level definition only if it was imported from
    there, through packages that hand it on as well, or by `*`. `module.name` means it only if that module is its file.
    """
    if symbol.owner:
        # A method is reached through an object; what is defined inside a function, from inside it.
        inside = call.file == symbol.file and f"{call.enclosing}.".startswith(f"{symbol.owner}.")
        return bool(call.qualifier) or (symbol.kind != "method" and inside)
    same_file = call.file == symbol.file
    head, _, rest = call.qualifier.partition(".")
    if not call.qualifier:
        return same_file or _brings(call.file, call.name, symbol, imports_of)
    bound = [item for item in imports_of(call.file) if _bound_name(item) == head]
    if not bound or rest:
        # Some object, or a module deeper down: the name alone cannot tell.
        return not same_file or head not in ("self", "cls")
    return any(_leads_to(item, symbol, imports_of) for item in bound)


def aliases_of(symbol: SymbolRecord, importing: Iterable[ImportRecord]) -> dict[str, set[str]]:
    """Other names that importing files give a top-level definition, and the files that do."""
    names: dict[str, set[str]] = {}
    for item in importing:
        if item.name == symbol.name and item.alias and item.alias != symbol.name:
            names.setdefault(item.alias, set()).add(item.file)
    return names


def _bound_name(item: ImportRecord) -> str:
    """The name that an import puts into its file: `import a.b` binds `a`."""
    return item.alias or item.name or item.module.partition(".")[0]


def _brings(file: str, name: str, symbol: SymbolRecord, imports_of: ImportsOf, depth: int = 0) -> bool:
    """True when a file's imports give `name` the meaning of the symbol."""
    for item in imports_of(file):
        if item.name != "*" and _bound_name(item) != name:
            continue
        if item.target == symbol.file and item.name in ("*", symbol.name):
            return True
        handed_on = item.name if item.name != "*" else name
        may_hand_on = item.target is not None and item.target != file and depth < MAX_REEXPORTS and handed_on
        if item.target and may_hand_on and _brings(item.target, handed_on, symbol, imports_of, depth + 1):
            return True
    return False


def _leads_to(item: ImportRecord, symbol: SymbolRecord, imports_of: ImportsOf) -> bool:
    """True when what an import binds is the symbol's module, or a package that hands the symbol on."""
    if item.target is None:
        return False
    return item.target == symbol.file or _brings(item.target, symbol.name, symbol, imports_of, 1)
