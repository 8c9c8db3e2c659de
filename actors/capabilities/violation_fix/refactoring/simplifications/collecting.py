"""Turns loops that collect into comprehensions, extend() and update()."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names, names_read
from actors.capabilities.violation_fix.refactoring.simplifications.loops import (
    Search,
    bracketed,
    clauses_of,
    nested_search_of,
    only_name,
    refuse_unfit,
)
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line


def collect(spot: Spot) -> str | None:
    """Collect by a comprehension in place of a loop that fills a new list, set or dictionary."""
    search = nested_search_of(spot)
    name = _filled_name(search.done[-1]) if search is not None and search.done else None
    before = _beginning(spot, name) if name is not None else None
    if search is None or before is None or name is None:
        return None
    found = _collected(spot, search, name)
    if found is None or not _is_empty(before.value, found.opening):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, *found.parts)))
    if name in read or name in search.targets:
        return None
    if len(found.parts) == 2 and sum(_may_act(part) for part in found.parts) > 1:
        raise spot.refuse("order", "key and value would be worked out in another order")
    refuse_unfit(spot, search, *found.parts)
    if any(_changes(part) for part in (*search.expressions, *found.parts)):
        raise spot.refuse("changes", "the loop changes something else besides, which a comprehension hides")
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{name} may be read after the loop raises")
    if found.opening != "[":
        spot.refuse_shadowed("set", "dict")
    spot.refuse_comments(spot.line, last_line(spot.node))
    spot.refuse_comments(first_line(before), last_line(before))
    item = ": ".join(spot.text(part) for part in found.parts)
    annotation = f": {spot.source.segment(before.annotation)}" if isinstance(before, ast.AnnAssign) else ""
    head = f"{name}{annotation} = {found.opening}"
    lines = bracketed(spot, head, [item, *clauses_of(spot, search)], found.closing)
    if before is spot.before:
        spot.refuse_comments(first_line(before), last_line(spot.node))
        return spot.replaced(before, spot.node, lines)
    return spot.replaced(spot.node, spot.node, lines, without=before)


def _filled_name(statement: ast.stmt) -> str | None:
    """Return the name of what a statement adds to, or sets an item of."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        filled = statement.targets[0].value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        filled = function.value if isinstance(function, ast.Attribute) else function
    else:
        return None
    return filled.id if isinstance(filled, ast.Name) else None


# Simple statements, none of which leaves, that may stand between an empty container and the loop that fills it.
_PASSED = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_MAX_PASSED = 3


def _beginning(spot: Spot, name: str) -> ast.Assign | ast.AnnAssign | None:
    """Return the statement that makes a container, where nothing between it and the loop knows of it."""
    for number in range(spot.position - 1, max(spot.position - 2 - _MAX_PASSED, -1), -1):
        statement = spot.body[number]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and only_name(statement) == name:
            is_next = number == spot.position - 1
            return statement if statement.value is not None and (is_next or spot.stands_alone(statement)) else None
        is_passed = isinstance(statement, _PASSED) and name not in names_read(statement) | bound_names(statement)
        if not is_passed or name in spot.around.captured:
            return None
    return None


def _collected(spot: Spot, search: Search, name: str) -> Collected | None:
    """Return what a loop puts into a container; a name that only carries it there is left out."""
    if len(search.done) == 1:
        return collected_by(search.done[0], name)
    carried, added = search.done if len(search.done) == 2 else (None, search.done[-1])
    carrier = only_name(carried) if isinstance(carried, ast.Assign) else None
    found = collected_by(added, name) if carrier is not None else None
    if (
        found is None
        or carrier is None
        or not isinstance(carried, ast.Assign)
        or not _is_name(found.parts[-1], carrier)
    ):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, carried.value)))
    is_key_plain = all(isinstance(part, ast.Name | ast.Constant) for part in found.parts[:-1])
    if (
        carrier in read | search.targets | {name}
        or not is_key_plain
        or _is_name(found.parts[0], carrier, len(found.parts) > 1)
    ):
        return None
    spot.refuse_live_after(frozenset({carrier}), search.loop)
    return replace(found, parts=(*found.parts[:-1], carried.value))


def _is_name(part: ast.expr, name: str, asked: bool = True) -> bool:
    return asked and isinstance(part, ast.Name) and part.id == name


def extend_list(spot: Spot) -> str | None:
    """Extend a list, or update a set, by a generator in place of a loop that adds to it."""
    search = nested_search_of(spot)
    added = search.done[-1] if search is not None else None
    function = added.value.func if isinstance(added, ast.Expr) and isinstance(added.value, ast.Call) else None
    if search is None or not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    name = function.value.id
    found = _collected(spot, search, name)
    growing = _GROWING.get(function.attr)
    if found is None or growing is None or not is_made_here(spot, name, growing.kinds):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, *found.parts)))
    if name in read or name in search.targets:
        return None
    refuse_unfit(spot, search, *found.parts)
    spot.refuse_maybe_unbound(frozenset({name}), search.loop)
    spot.refuse_comments(spot.line, last_line(spot.node))
    parts = [spot.text(found.parts[0]), *clauses_of(spot, search)]
    return spot.replaced(spot.node, spot.node, bracketed(spot, f"{name}.{growing.method}(", parts, ")"))


@dataclass(frozen=True)
class _Growing:
    method: str
    kinds: tuple[type[ast.expr], ...]


_GROWING = {"append": _Growing("extend", (ast.List, ast.ListComp)), "add": _Growing("update", (ast.Set, ast.SetComp))}
_EMPTY_CALLS = {ast.List: "list", ast.Set: "set", ast.Dict: "dict"}


def is_made_here(spot: Spot, name: str, kinds: tuple[type[ast.expr], ...]) -> bool:
    """Check that a local name only ever stands for a container of one kind that the function makes."""
    function = spot.around.place.function
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AnnAssign)]
    values = [node.value for node in assigned if only_name(node) == name]
    stores = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    count = sum(isinstance(node.ctx, ast.Store) for node in stores)
    is_parameter = name in {argument.arg for argument in spot.around.place.parameters}
    made = all(isinstance(value, kinds) or _is_empty_call(spot, value, kinds) for value in values)
    return bool(values) and made and count == len(values) and not is_parameter and name in spot.around.place.locals


def _is_empty_call(spot: Spot, value: ast.expr | None, kinds: tuple[type[ast.expr], ...]) -> bool:
    if not isinstance(value, ast.Call) or value.keywords or not isinstance(value.func, ast.Name):
        return False
    if not all(isinstance(each, ast.List | ast.Tuple) and not each.elts for each in value.args):
        return False
    name = value.func.id
    return name not in spot.around.bound_anywhere and any(_EMPTY_CALLS.get(kind) == name for kind in kinds)


@dataclass(frozen=True)
class Collected:
    opening: str
    closing: str
    parts: tuple[ast.expr, ...]


def collected_by(statement: ast.stmt, name: str | None) -> Collected | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            is_plain = not isinstance(target.slice, ast.Slice | ast.Tuple | ast.Starred)
            return Collected("{", "}", (target.slice, statement.value)) if is_plain else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None
    function, item = call.func, call.args[0]
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    brackets = {"append": "[]", "add": "{}"}.get(function.attr)
    if function.value.id != name or brackets is None or isinstance(item, ast.Starred):
        return None
    return Collected(brackets[0], brackets[1], (item,))


def _is_empty(value: ast.expr | None, opening: str) -> bool:
    if isinstance(value, ast.List):
        return opening == "[" and not value.elts
    if isinstance(value, ast.Dict):
        return opening == "{" and not value.keys
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
        return value.func.id == {"[": "list", "{": "set"}[opening]
    return False


_CHANGING = frozenset(
    {"append", "add", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove", "setdefault"}
    | {"update", "write", "writelines"}
)


def _changes(value: ast.expr) -> bool:
    """Check for calls that take from a container or add to it."""
    calls = (part.func for part in ast.walk(value) if isinstance(part, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr in _CHANGING for function in calls)


def _may_act(value: ast.expr) -> bool:
    """Check for calls and look-ups, whose order may be seen."""
    acting = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.JoinedStr, ast.Await)
    return any(isinstance(part, acting) for part in ast.walk(value))
