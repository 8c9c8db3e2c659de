"""Writes look-ups of what may be missing as getattr(), get() and pop() with a default."""

from __future__ import annotations

import ast
from typing import NamedTuple

from actors.capabilities.violation_fix.refactoring.simplifications.collecting import is_made_here
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, is_empty_display
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line

_DICTIONARIES = (ast.Dict, ast.DictComp)
_PLAIN_VALUES = (ast.Constant, ast.Name)


class _Given(NamedTuple):
    """Holds a value and what is spelled before it: `return `, or a name and `=`."""

    head: str
    value: ast.expr


def get_attribute(spot: Spot) -> str | None:
    """Write `try: x = a.b` and `except AttributeError: x = 0` as `x = getattr(a, "b", 0)`."""
    node = spot.node
    if not isinstance(node, ast.Try) or node.orelse or node.finalbody or len(node.handlers) != 1:
        return None
    handler = node.handlers[0]
    if len(node.body) != 1 or len(handler.body) != 1 or handler.name is not None:
        return None
    if not isinstance(handler.type, ast.Name) or handler.type.id != "AttributeError":
        return None
    found, missing = _given(spot, node.body[0]), _given(spot, handler.body[0])
    if found is None or missing is None or found.head != missing.head or not isinstance(found.value, ast.Attribute):
        return None
    owner, attribute = found.value.value, found.value.attr
    # Looked up by a text, a private name of a class would not be mangled.
    is_mangled = attribute.startswith("__") and not attribute.endswith("__")
    if not isinstance(owner, ast.Name) or is_mangled or not is_made_for_nothing(spot, missing.value):
        return None
    spot.refuse_shadowed("getattr", "AttributeError")
    spot.refuse_comments(spot.line, last_line(node))
    quote = _quote_of(spot)
    text = f"getattr({owner.id}, {quote}{attribute}{quote}, {spot.text(missing.value)})"
    return _replaced(spot, node, node, f"{found.head}{text}")


def get_item(spot: Spot) -> str | None:
    """Write `if k in d: x = d[k]` and `else: x = 0` as `x = d.get(k, 0)`; likewise with pop() and `del`."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or len(node.body) != 1:
        return None
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.In):
        return None
    key, holder = test.left, test.comparators[0]
    if not isinstance(key, _PLAIN_VALUES) or not isinstance(holder, ast.Name) or not is_dictionary(spot, holder.id):
        return None
    done = node.body[0]
    if isinstance(done, ast.Delete):
        is_plain = not node.orelse and len(done.targets) == 1 and _is_item(done.targets[0], holder, key)
        return _replaced(spot, node, node, f"{holder.id}.pop({spot.text(key)}, None)") if is_plain else None
    first, last, missing = _otherwise(spot, node)
    found = _given(spot, done)
    if found is None or missing is None or found.head != missing.head or not is_made_for_nothing(spot, missing.value):
        return None
    is_popped = _is_pop(found.value, holder, key)
    if not is_popped and not _is_item(found.value, holder, key):
        return None
    # The default is worked out first, and what is assigned may be a part of it.
    if {holder.id} & {part.id for part in ast.walk(missing.value) if isinstance(part, ast.Name)}:
        return None
    is_none = isinstance(missing.value, ast.Constant) and missing.value.value is None and not is_popped
    default = "" if is_none else f", {spot.text(missing.value)}"
    method = "pop" if is_popped else "get"
    return _replaced(spot, first, last, f"{found.head}{holder.id}.{method}({spot.text(key)}{default})")


def _otherwise(spot: Spot, node: ast.If) -> tuple[ast.stmt, ast.stmt, _Given | None]:
    """Return what is done where the key is missing, and the first and last statement that the look-up replaces."""
    if node.orelse:
        return node, node, _given(spot, node.orelse[0]) if len(node.orelse) == 1 else None
    if isinstance(node.body[0], ast.Return):
        after = spot.after
        is_next = after is not None and not spot.source.is_blank(last_line(node) + 1)
        return node, after if after is not None and is_next else node, _given(spot, after) if is_next else None
    before = spot.before
    missing = _given(spot, before)
    is_plain = missing is not None and isinstance(missing.value, ast.Constant) and not spot.is_guarded
    if before is None or missing is None or not is_plain or spot.source.is_blank(last_line(before) + 1):
        return node, node, None
    # The key is asked for before the name is bound now.
    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    return before, node, None if missing.head.removesuffix(" = ") in names else missing


def _given(spot: Spot, statement: ast.stmt | None) -> _Given | None:
    if isinstance(statement, ast.Return) and statement.value is not None:
        return _Given("return ", statement.value)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return _Given(f"{target.id} = ", statement.value) if isinstance(target, ast.Name) else None
    return None


def is_made_for_nothing(spot: Spot, value: ast.expr) -> bool:
    """Check for a value that can be worked out although it may not be needed."""
    if isinstance(value, ast.Name):
        spot.refuse_maybe_unbound(frozenset({value.id}), spot.node)
        return value.id in spot.around.place.locals
    return isinstance(value, ast.Constant) or is_empty_display(value)


def is_dictionary(spot: Spot, name: str) -> bool:
    """Return whether a name only ever stands for a dictionary: made by the function, or its keyword arguments."""
    function = spot.around.place.function
    if function.args.kwarg is None or function.args.kwarg.arg != name:
        return is_made_here(spot, name, _DICTIONARIES)
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name)
    return all(isinstance(node.ctx, ast.Load) for node in stored)


def _is_item(value: ast.expr, holder: ast.Name, key: ast.expr) -> bool:
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
        return False
    return value.value.id == holder.id and ast.dump(value.slice) == ast.dump(key)


def _is_pop(value: ast.expr, holder: ast.Name, key: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr != "pop":
        return False
    owner = value.func.value
    is_same = isinstance(owner, ast.Name) and owner.id == holder.id
    return is_same and not value.keywords and [ast.dump(each) for each in value.args] == [ast.dump(key)]


def _quote_of(spot: Spot) -> str:
    """Return the quotation mark of most texts in the file."""
    text = spot.source.text
    return "'" if text.count("'") > text.count('"') else '"'


def _replaced(spot: Spot, first: ast.stmt, last: ast.stmt, text: str) -> str | None:
    spot.refuse_comments(first_line(first), last_line(last))
    line = f"{spot.indent}{text}"
    return spot.replaced(first, last, [line]) if spot.fits(line) else None
