"""Orders the classes in which a member is looked up, and finds members defined elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.codebase.resolution.type_values import Step, Value
from runtime.primitives.dotted_names import last_part

if TYPE_CHECKING:
    from runtime.codebase.resolution.type_evaluation import Evaluator

MAX_CLASSES = 200
MAX_NAMESAKES = 400


def class_order(evaluator: Evaluator, file: str, scope: int) -> tuple[Value | None, ...]:
    """Return a class and its bases, nearest first: depth first, a shared base after all that have it.

    None stands for a base that is not known. Cyclic bases are visited once.
    """
    return evaluator.once(("order", file, scope), lambda: _ordered(evaluator, file, scope)) or ()


def _ordered(evaluator: Evaluator, file: str, scope: int) -> tuple[Value | None, ...]:
    first = Value("class", file, scope)
    found: list[Value | None] = []
    waiting: list[Value | None] = [first]
    while waiting and len(found) < MAX_CLASSES:
        one = waiting.pop()
        found.append(one)
        if one is not None and one.kind == "class" and sum(_same(one, other) for other in found) == 1:
            waiting.extend(reversed(bases_of(evaluator, one)))
    last = {one and one.identity: place for place, one in enumerate(found)}
    return tuple(one for place, one in enumerate(found) if one is None or last[one.identity] == place)


def _same(one: Value, other: Value | None) -> bool:
    return other is not None and one.identity == other.identity


def bases_of(evaluator: Evaluator, one: Value) -> list[Value | None]:
    """Return the direct bases of a class; None for one that is not known."""
    facts = evaluator.store.facts(one.file)
    if facts is None or not 0 <= one.scope < len(facts.scopes):
        return [None]
    held = facts.scopes[one.scope]
    bases: list[Value | None] = []
    for base in held.bases:
        found = evaluator.value(one.file, held.parent, base)
        is_class = found is not None and found.kind in ("class", "external")
        bases.append(found.after(Step("base", one.file, held.line)) if found is not None and is_class else None)
    return bases


def extension_members(evaluator: Evaluator, one: Value, name: str) -> list[Value]:
    """Return the functions of a name that extensions of a class define, by file and line."""
    # An object that a variable holds has no name of its own.
    held = _scope_name(evaluator, one)
    index, rules = evaluator.store.index, evaluator.store.rules(one.file)
    # A prototype that another file changes is not what the class defines.
    in_one_file = rules is None or rules.imports == "exports"
    found: list[Value] = []
    by_trait: list[Value] = []
    for symbol in index.symbols("s.name = ?", (name,), MAX_NAMESAKES):
        if (held and last_part(symbol.owner) != held) or (in_one_file and symbol.file != one.file):
            continue
        facts = evaluator.store.facts(symbol.file)
        for place in facts.places(name, symbol.name_line) if facts is not None else ():
            around = facts.scopes[facts.scopes[place].parent] if facts is not None else None
            if around is None or around.kind != "extension" or not around.bases:
                continue
            extended = evaluator.value(symbol.file, around.parent, around.bases[0])
            if extended is not None and (extended.file, extended.scope) == (one.file, one.scope):
                step = Step("scope", symbol.file, symbol.name_line)
                made = Value("function", symbol.file, place, steps=(step,))
                (by_trait if "trait" in around.marks else found).append(made)
    # What a type has itself comes before what a trait gives it; of several traits none is certain.
    return found or (by_trait if len(by_trait) == 1 else [])


def _scope_name(evaluator: Evaluator, one: Value) -> str:
    facts = evaluator.store.facts(one.file)
    return facts.scopes[one.scope].name if facts is not None and 0 <= one.scope < len(facts.scopes) else ""
