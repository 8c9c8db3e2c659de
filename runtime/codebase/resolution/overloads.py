"""Chooses among definitions of one name by the types of a call's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.codebase.language_parts.type_facts import Call
from runtime.codebase.resolution.class_members import class_order
from runtime.codebase.resolution.type_values import Value
from runtime.primitives.dotted_names import last_part

if TYPE_CHECKING:
    from runtime.codebase.resolution.type_evaluation import Evaluator

MAX_COMPARED = 40
_SAME, _BASE, _OPEN, _NEVER = 3, 2, 0, -100
_NUMBERS = frozenset({"byte", "short", "int", "long", "float", "double", "char"})
_BOXED = {"Integer": "int", "Character": "char", "Long": "long", "Double": "double", "Boolean": "boolean"}
_TEXTS = frozenset({"CharSequence", "Comparable", "Object", "Serializable"})


def best_overloads(evaluator: Evaluator, file: str, call: Call, places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the definitions whose parameters fit the arguments best; several if their types do not tell."""
    if len(places) < 2 or not call.given or len(places) > MAX_COMPARED:
        return places
    given = [evaluator.value(file, call.scope, argument) for argument in call.given]
    fits = [_total(evaluator, given, _wanted(evaluator, *place)) for place in places]
    return [place for place, fit in zip(places, fits, strict=True) if fit == max(fits)]


def _total(evaluator: Evaluator, given: list[Value | None], wanted: list[Value | None]) -> int:
    return sum(_fit(evaluator, one, other) for one, other in zip(given, wanted, strict=False))


def _wanted(evaluator: Evaluator, file: str, scope: int) -> list[Value | None]:
    facts, rules = evaluator.store.facts(file), evaluator.store.rules(file)
    if facts is None or rules is None:
        return []
    return [evaluator.instance(evaluator.value(file, scope, kind), rules) for kind in facts.scopes[scope].parameters]


def _fit(evaluator: Evaluator, given: Value | None, wanted: Value | None) -> int:
    """Return how well an argument fits a parameter: the same type, a base of it, unknown, or never."""
    if given is None or wanted is None or given.is_none:
        return _OPEN
    if given.kind == "instance" and wanted.kind == "instance":
        order = class_order(evaluator, given.file, given.scope)
        if (given.file, given.scope) == (wanted.file, wanted.scope):
            return _SAME
        if any(one is not None and (one.file, one.scope) == (wanted.file, wanted.scope) for one in order):
            return _BASE
        return _OPEN if None in order else _NEVER
    if given.is_external and wanted.is_external:
        return _fit_external(evaluator, given, wanted)
    basic = {_plain(one) for one in (given, wanted) if one.is_external}
    return _NEVER if basic & (_NUMBERS | {"boolean", "String", "[]"}) else _OPEN


def _fit_external(evaluator: Evaluator, given: Value, wanted: Value) -> int:
    one, other = _plain(given), _plain(wanted)
    if one == other == "[]" and given.arguments and wanted.arguments:
        return _fit(evaluator, given.arguments[0], wanted.arguments[0])
    if one == other:
        return _SAME
    if one in _NUMBERS and other in _NUMBERS:
        return _BASE if one != "char" else _OPEN
    if other in _TEXTS:
        return _OPEN
    return _NEVER if {one, other} & (_NUMBERS | {"boolean", "[]", "String"}) else _OPEN


def _plain(value: Value) -> str:
    name = last_part(value.name)
    return _BOXED.get(name, name)
