"""Finds the one function or macro that a name means by the rules of linkage and includes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.codebase.resolution.type_values import Step, Value

if TYPE_CHECKING:
    from runtime.codebase.index.records import SymbolRecord
    from runtime.codebase.resolution.type_evaluation import Evaluator

MAX_INCLUDED = 300
MAX_NAMESAKES = 100


def linked(evaluator: Evaluator, file: str, name: str) -> Value | None:
    """Return what a name means that its file does not define.

    What an included file defines comes first, then the only definition in the repository that is not `static`. A name
    that nothing defines is external; one with several definitions is not known.
    """
    symbols = evaluator.once(("named", name), lambda: _named(evaluator, name)) or ()
    if not symbols:
        return Value("external", name=name)
    included = evaluator.once(("included", file), lambda: _included(evaluator, file)) or {}
    found = [value for symbol in symbols for value in _defined(evaluator, symbol, symbol.file in included)]
    within = [value for value in found if value.file in included]
    if len(within) == 1:
        return within[0].after(Step("import", file, included[within[0].file]))
    if within:
        return None
    if len(found) == 1:
        return found[0].after(Step("package", found[0].file, _line(evaluator, found[0])))
    return None


def _named(evaluator: Evaluator, name: str) -> tuple[SymbolRecord, ...]:
    found = evaluator.store.index.symbols("s.name = ?", (name,), MAX_NAMESAKES)
    return tuple(one for one in found if not one.owner)


def _line(evaluator: Evaluator, found: Value) -> int:
    facts = evaluator.store.facts(found.file)
    return facts.scopes[found.scope].line if facts is not None else 1


def _defined(evaluator: Evaluator, symbol: SymbolRecord, is_included: bool) -> list[Value]:
    """Return the definitions at a symbol that another file can mean."""
    facts = evaluator.store.facts(symbol.file)
    found = []
    for place in facts.places(symbol.name, symbol.name_line) if facts is not None else ():
        held = facts.scopes[place] if facts is not None else None
        if held is not None and (is_included or not {"static", "macro"} & {*held.marks}):
            step = Step("scope", symbol.file, held.line)
            found.append(Value("function", symbol.file, place, steps=(step,)))
    return found


def _included(evaluator: Evaluator, file: str) -> dict[str, int]:
    """Return the files that a file includes, also through others, each with the line of the first include."""
    found: dict[str, int] = {}
    waiting = [(file, 0)]
    while waiting and len(found) < MAX_INCLUDED:
        path, line = waiting.pop()
        facts = evaluator.store.facts(path)
        for place in facts.stars if facts is not None else ():
            item = facts.imports[place] if facts is not None else None
            target = evaluator.store.resolve(path, item.module) if item is not None else None
            if item is not None and target is not None and target not in found and target != file:
                found[target] = line or item.line
                waiting.append((target, line or item.line))
    return found
