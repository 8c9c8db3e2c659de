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
    node, after = spot.node, spot.after
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
    if after is None or not isinstance(after, ast.Expr | ast.AugAssign):
        spot.refuse_comments(spot.line, last_line(node))
        return _replaced(spot, node, call)
    found = after.value.func if isinstance(after, ast.Expr) and isinstance(after.value, ast.Call) else None
    if not isinstance(found, ast.Attribute) or not _is_same_item(found.value, item):
        return None
    if holder.id in names_read(ast.Tuple([*after.value.args], ast.Load())):  # type: ignore[attr-defined]
        return None
    spot.refuse_comments(spot.line, last_line(after))
    rest = spot.source.text[spot.source.end_of(found.value) : spot.source.end_of(after)]
    if "\n" in rest:
        raise spot.refuse("long_condition", "the call spans lines")
    return _replaced(spot, after, call + rest)


def _replaced(spot: Spot, last: ast.stmt, text: str) -> str | None:
    line = f"{spot.indent}{text}"
    return spot.replaced(spot.node, last, [line]) if spot.fits(line) else None


def _is_same(one: ast.expr, two: ast.expr) -> bool:
    return ast.dump(one).replace("Store()", "Load()") == ast.dump(two).replace("Store()", "Load()")


def _is_same_item(one: ast.expr, two: ast.expr) -> bool:
    return isinstance(one, ast.Subscript) and _is_same(one, two)


def _is_free_to_make(value: ast.expr) -> bool:
    """Check for a value that can be made for nothing: it is made even where it is not needed."""
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.List | ast.Dict | ast.Set) and not (
        getattr(value, "elts", None) or getattr(value, "keys", None)
    )
