"""Writes a look-up that first makes what is missing as setdefault()."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.name_scopes import names_read
from actors.capabilities.violation_fix.refactoring.simplifications.loops import is_made_here
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import last_line


def set_default(spot: Spot) -> str | None:
    """Write `if k not in d: d[k] = []` as `d.setdefault(k, [])`, joined with the call on `d[k]` that follows it.

    Only of a dictionary that the function made itself: another mapping may do more when an item is asked for.
    """
    node = spot.node
    if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1 or spot.source.is_elif(node):
        return None
    test, made = node.test, node.body[0]
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.NotIn):
        return None
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or not isinstance(made.targets[0], ast.Subscript):
        return None
    item, holder = made.targets[0], test.comparators[0]
    if not isinstance(holder, ast.Name) or not _is_same(item.value, holder) or not _is_same(item.slice, test.left):
        return None
    if not isinstance(test.left, ast.Name | ast.Constant) or not _is_free_to_make(made.value):
        return None
    if not is_made_here(spot, holder.id, (ast.Dict, ast.DictComp)):
        return None
    call = f"{holder.id}.setdefault({spot.text(test.left)}, {spot.text(made.value)})"
    used = _call_on(spot.after, item)
    if used is None:
        spot.refuse_comments(spot.line, last_line(node))
        return _replaced(spot, node, call) if not _is_counted(spot.after, item) else None
    if holder.id in frozenset[str]().union(*(names_read(argument) for argument in used.args)) or used.keywords:
        return None
    assert spot.after is not None
    spot.refuse_comments(spot.line, last_line(spot.after))
    assert isinstance(used.func, ast.Attribute)
    rest = spot.source.text[spot.source.end_of(used.func.value) : spot.source.end_of(spot.after)]
    if "\n" in rest:
        raise spot.refuse("long_condition", "the call spans lines")
    return _replaced(spot, spot.after, call + rest)


def _call_on(statement: ast.stmt | None, item: ast.Subscript) -> ast.Call | None:
    """Return the call of a method of the item, where a statement is nothing else."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    return call if isinstance(call.func.value, ast.Subscript) and _is_same(call.func.value, item) else None


def _is_counted(statement: ast.stmt | None, item: ast.Subscript) -> bool:
    """Check for `d[k] += 1`, which reads better behind the condition."""
    return isinstance(statement, ast.AugAssign) and _is_same(statement.target, item)


def _replaced(spot: Spot, last: ast.stmt, text: str) -> str | None:
    line = f"{spot.indent}{text}"
    return spot.replaced(spot.node, last, [line]) if spot.fits(line) else None


def _is_same(one: ast.expr, two: ast.expr) -> bool:
    return ast.dump(one).replace("Store()", "Load()") == ast.dump(two).replace("Store()", "Load()")


def _is_free_to_make(value: ast.expr) -> bool:
    """Check for a value that can be made for nothing: it is made even where it is not needed."""
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.List | ast.Dict | ast.Set) and not (
        getattr(value, "elts", None) or getattr(value, "keys", None)
    )
