"""Writes a look-up that first makes what is missing as setdefault()."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import names_read
from actors.capabilities.violation_fix.refactoring.simplifications.lookups import is_dictionary, is_made_for_nothing
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
    if not isinstance(test.left, ast.Name | ast.Constant) or not is_made_for_nothing(spot, made.value):
        return None
    if not is_dictionary(spot, holder.id):
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


def gather_item(spot: Spot) -> str | None:
    """Write `if k in d: d[k].append(x)` and `else: d[k] = [x]` with setdefault(), and likewise counts with get()."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or len(node.body) != 1 or len(node.orelse) != 1:
        return None
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.In | ast.NotIn):
        return None
    is_there = isinstance(test.ops[0], ast.In)
    more, made = (node.body[0], node.orelse[0]) if is_there else (node.orelse[0], node.body[0])
    holder, key = test.comparators[0], test.left
    if not isinstance(holder, ast.Name) or not isinstance(key, ast.Name | ast.Constant):
        return None
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or not isinstance(made.targets[0], ast.Subscript):
        return None
    item = made.targets[0]
    if not _is_same(item.value, holder) or not _is_same(item.slice, key) or not is_dictionary(spot, holder.id):
        return None
    text = _gathered(spot, item, more, made.value) or _counted(spot, item, more, made.value)
    if text is None:
        return None
    spot.refuse_comments(spot.line, last_line(node))
    return _replaced(spot, node, text)


def _gathered(spot: Spot, item: ast.Subscript, more: ast.stmt, made: ast.expr) -> str | None:
    """Return the call that adds to a list or set under a key, where the first one is made of the same thing."""
    call = _call_on(more, item)
    method = call.func.attr if call is not None and isinstance(call.func, ast.Attribute) else ""
    kind = {"append": ast.List, "add": ast.Set}.get(method)
    if call is None or kind is None or len(call.args) != 1 or call.keywords or not isinstance(made, kind):
        return None
    if not isinstance(made, ast.List | ast.Set) or [ast.dump(each) for each in made.elts] != [ast.dump(call.args[0])]:
        return None
    # What is added is worked out behind the look-up now.
    if not isinstance(call.args[0], ast.Name | ast.Constant):
        return None
    empty = "[]"
    if kind is ast.Set:
        spot.refuse_shadowed("set")
        empty = "set()"
    assert isinstance(item.value, ast.Name)
    return f"{item.value.id}.setdefault({spot.text(item.slice)}, {empty}).{method}({spot.text(call.args[0])})"


def _counted(spot: Spot, item: ast.Subscript, more: ast.stmt, made: ast.expr) -> str | None:
    """Return the assignment that counts one up under a key, where the function stores nothing else there."""
    if not isinstance(more, ast.AugAssign) or not isinstance(more.op, ast.Add) or not _is_same(more.target, item):
        return None
    if not all(isinstance(each, ast.Constant) and type(each.value) is int for each in (more.value, made)):
        return None
    if ast.dump(more.value) != ast.dump(made) or not isinstance(item.value, ast.Name):
        return None
    holder = item.value.id
    nodes = list(ast.walk(spot.around.place.function))
    stored = [
        n
        for n in nodes
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and _is_same(n.value, item.value)
    ]
    made_full = any(isinstance(n, ast.Dict) and n.keys for n in nodes)
    if len(stored) != 2 or made_full or holder in spot.around.captured or _is_dict_of_keywords(spot, holder):
        return None
    text = spot.text(item)
    return f"{text} = {holder}.get({spot.text(item.slice)}, 0) + {spot.text(made)}"


def _is_dict_of_keywords(spot: Spot, name: str) -> bool:
    kwarg = spot.around.place.function.args.kwarg
    return kwarg is not None and kwarg.arg == name


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
