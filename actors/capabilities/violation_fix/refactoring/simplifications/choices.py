"""Writes branches that only choose a value as one conditional expression."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NamedTuple

from actors.capabilities.violation_fix.refactoring.block_exits import is_boolean
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import names_read
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, is_empty_display, is_simple_value
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line

# A longer line is harder to read than the branches were.
MAX_LENGTH = 88
# More neighbours than these would be another style for a part of the file.
_MOST_CHOICES = 3


def assign_choice(spot: Spot) -> str | None:
    """Write `if c: x = a` and `else: x = b` as `x = a if c else b`, and `x += a` as `x += a if c else b`.

    Neighbours that are built alike are written so too, or none of them.
    """
    if not _only_assigns(spot.node) or (spot.before is not None and _only_assigns(spot.before)):
        return None
    run = [spot]
    while run[-1].after is not None and _only_assigns(run[-1].after):
        run.append(replace(spot, position=run[-1].position + 1))
    if len(run) > _MOST_CHOICES:
        return None
    lines: list[str] = []
    for each in run:
        chosen = _assigned_choice(each)
        if chosen is None:
            return None
        gap = range(last_line(run[each.position - spot.position - 1].node) + 1, each.line) if each is not spot else ()
        if gap:
            spot.refuse_comments(gap[0], gap[-1])
        lines += ["" for _ in gap] + chosen
    return spot.replaced(run[0].node, run[-1].node, lines)


def _only_assigns(node: ast.stmt) -> bool:
    """Check for a condition each of whose two branches only assigns something."""
    if not isinstance(node, ast.If) or len(node.body) != 1 or len(node.orelse) != 1:
        return False
    return all(isinstance(each, ast.Assign | ast.AugAssign) for each in (node.body[0], node.orelse[0]))


def _assigned_choice(spot: Spot) -> list[str] | None:
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node):
        return None
    first, second = (_assignment(spot, node, part) for part in (node.body[0], node.orelse[0]))
    if first is None or second is None or first.head != second.head or spot.is_one_of_many:
        return None
    spot.refuse_comments(spot.line, last_line(node.orelse[0]))
    return _lines(spot, node, first.head, first.value, second.value)


class _Assignment(NamedTuple):
    """Holds what an assignment is spelled like before its value."""

    head: str
    value: ast.expr


def _assignment(spot: Spot, node: ast.If, statement: ast.stmt) -> _Assignment | None:
    """Return an assignment to one target that means the same behind the condition as before it."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            return _Assignment(f"{spot.text(target)} = ", statement.value)
    # What is added to is looked up before the condition is asked: nothing else may bind it.
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        function = spot.around.place.function
        shared = frozenset(
            name for part in ast.walk(function) if isinstance(part, ast.Nonlocal | ast.Global) for name in part.names
        )
        name = statement.target.id
        if name in spot.around.place.locals - shared:
            spot.refuse_maybe_unbound(frozenset({name}), node)
            between = spot.source.text[spot.source.end_of(statement.target) : spot.source.start_of(statement.value)]
            return _Assignment(f"{name}{between}", statement.value)
    return None


def assign_default(spot: Spot) -> str | None:
    """Write `x = b` and `if c: x = a` as `x = a if c else b`, where b may as well not be looked up."""
    node, before = spot.node, spot.before
    if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1 or not isinstance(before, ast.Assign):
        return None
    assigned = node.body[0]
    if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1 or len(before.targets) != 1:
        return None
    target = before.targets[0]
    if not isinstance(target, ast.Name) or not _is_default(spot, before.value):
        return None
    if ast.dump(target) != ast.dump(assigned.targets[0]):
        return None
    if target.id in names_read(node.test) | names_read(assigned.value):
        return None
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{target.id} may be read after the condition raises")
    if spot.source.is_blank(last_line(before) + 1):
        return None
    spot.refuse_comments(first_line(before), last_line(node))
    return spot.replaced(before, node, _lines(spot, node, f"{target.id} = ", assigned.value, before.value))


def _is_default(spot: Spot, value: ast.expr) -> bool:
    """Check for a value that is the same behind the condition, and may as well not be looked up at all."""
    if isinstance(value, ast.Name):
        shared = (each for part in ast.walk(spot.around.place.function) for each in getattr(part, "names", ()))
        is_own = value.id in spot.around.place.locals - frozenset(each for each in shared if isinstance(each, str))
        if is_own:
            spot.refuse_maybe_unbound(frozenset({value.id}), spot.node)
        return is_own
    return isinstance(value, ast.Constant) or is_empty_display(value)


def assign_extreme(spot: Spot) -> str | None:
    """Write `if a > b: b = a` as `b = max(b, a)`, which compares and keeps the same."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or node.orelse or len(node.body) != 1:
        return None
    assigned, test = node.body[0], node.test
    if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1 or not isinstance(test, ast.Compare):
        return None
    target = assigned.targets[0]
    if not isinstance(target, ast.Name) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Lt | ast.Gt):
        return None
    value = ast.dump(assigned.value)
    sides = [test.left, test.comparators[0]]
    is_target = [isinstance(side, ast.Name) and side.id == target.id for side in sides]
    if is_target.count(True) != 1 or ast.dump(sides[is_target.index(False)]) != value or not _is_inert(assigned.value):
        return None
    # The builtin asks whether the second is less, or greater, than the first: `b < a` is asked as `a > b`.
    is_value_first = is_target[1]
    if not is_value_first and not isinstance(assigned.value, ast.Constant):
        return None
    is_greater = isinstance(test.ops[0], ast.Gt) is is_value_first
    name = "max" if is_greater else "min"
    spot.refuse_shadowed(name)
    spot.refuse_comments(spot.line, last_line(node))
    line = f"{spot.indent}{target.id} = {name}({target.id}, {spot.text(assigned.value)})"
    return spot.replaced(node, node, [line]) if spot.fits(line) else None


def assign_other(spot: Spot) -> str | None:
    """Write `if not x: x = y` as `x = x or y`, where y is short; as `x = True`, where that is what a flag gets."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or node.orelse or len(node.body) != 1:
        return None
    assigned, test = node.body[0], node.test
    if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1 or not isinstance(test, ast.UnaryOp):
        return None
    target, asked = assigned.targets[0], test.operand
    if not isinstance(test.op, ast.Not) or not isinstance(target, ast.Name) or not isinstance(asked, ast.Name):
        return None
    if asked.id != target.id or not is_simple_value(assigned.value):
        return None
    spot.refuse_comments(spot.line, last_line(node))
    is_flag = isinstance(assigned.value, ast.Constant) and isinstance(assigned.value.value, bool)
    if is_flag and not _is_set_to_true(spot, target.id, assigned.value):
        return None
    value = spot.text(assigned.value)
    line = f"{spot.indent}{target.id} = {value if is_flag else f'{target.id} or {value}'}"
    return spot.replaced(node, node, [line]) if spot.fits(line) and len(line) <= MAX_LENGTH else None


def _is_set_to_true(spot: Spot, name: str, value: ast.expr) -> bool:
    """Return whether True is given to what is True or False before."""
    place = spot.around.place
    nodes = list(ast.walk(place.function))
    stores = [each for each in nodes if isinstance(each, ast.Name) and each.id == name]
    stores = [each for each in stores if not isinstance(each.ctx, ast.Load)]
    given = {id(target): node.value for node in nodes if isinstance(node, ast.Assign) for target in node.targets}
    # Bound without a name of its own: parameters, imports, handlers, patterns, definitions and declarations.
    named = {getattr(node, field, None) for node in nodes for field in ("arg", "name", "asname", "rest")}
    named = {each.partition(".")[0] for each in named if isinstance(each, str)}
    named |= {each for node in nodes if isinstance(node, ast.Nonlocal | ast.Global) for each in node.names}
    if name in named or name not in place.locals or not (isinstance(value, ast.Constant) and value.value is True):
        return False
    spot.refuse_maybe_unbound(frozenset({name}), spot.node)
    return all(id(each) in given and _is_true_or_false(given[id(each)]) for each in stores)


def _is_true_or_false(value: ast.expr) -> bool:
    return _bool(value) is not None or is_boolean(value)


# More of them are a row of defaults, which a reader wants to stay alike.
_MOST_MISSING = 2


def assign_missing(spot: Spot) -> str | None:
    """Write `if x is None: x = y` as `x = y if x is None else x`, where it stands alone; likewise by type."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node):
        return None
    found = _filled(node)
    if found is None or not is_simple_value(found.value):
        return None
    others = [part for part in ast.walk(spot.around.place.function) if isinstance(part, ast.If) and _filled(part)]
    is_in_row = any(isinstance(each, ast.If) and not each.orelse for each in (spot.before, spot.after))
    if len(others) > _MOST_MISSING or is_in_row or found.head not in spot.around.place.locals:
        return None
    spot.refuse_comments(spot.line, last_line(node))
    line = f"{spot.indent}{found.head} = {_choice(spot, node.test, spot.text(found.value), found.head)}"
    return spot.replaced(node, node, [line]) if spot.fits(line) and len(line) <= MAX_LENGTH else None


def _filled(node: ast.If) -> _Assignment | None:
    """Return the name that gets a value where it is None, or one made of it where it is of another type."""
    assigned = node.body[0]
    if node.orelse or len(node.body) != 1 or not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1:
        return None
    target, test = assigned.targets[0], node.test
    if not isinstance(target, ast.Name):
        return None
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    if isinstance(test, ast.Compare):
        right = test.comparators[0]
        is_none = len(test.ops) == 1 and isinstance(right, ast.Constant) and right.value is None
        is_filled = is_none and isinstance(test.ops[0], ast.Is) and _is_named(test.left, target.id)
    elif isinstance(asked, ast.Call) and _is_named(asked.func, "isinstance") and len(asked.args) == 2:
        is_filled = _is_named(asked.args[0], target.id) and target.id in names_read(assigned.value)
    else:
        return None
    return _Assignment(target.id, assigned.value) if is_filled else None


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def call_choice(spot: Spot) -> str | None:
    """Write two calls that differ in one argument as one call with a choice in it."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or len(node.body) != 1 or len(node.orelse) != 1:
        return None
    first, second = node.body[0], node.orelse[0]
    if not isinstance(first, ast.Expr) or not isinstance(second, ast.Expr) or spot.is_one_of_many:
        return None
    spot.refuse_comments(spot.line, last_line(second))
    text = _inner_choice(spot, node.test, first.value, second.value) if is_simple_test(node.test) else None
    line = f"{spot.indent}{text}"
    if text is None or not spot.fits(line) or len(line) > MAX_LENGTH:
        return None
    return spot.replaced(node, node, [line])


def return_choice(spot: Spot) -> str | None:
    """Write `if c: return a` and `return b` as `return a if c else b`; a row of guards stays as it is."""
    node = spot.node
    if not isinstance(node, ast.If) or spot.source.is_elif(node) or len(node.body) != 1:
        return None
    other = node.orelse[0] if len(node.orelse) == 1 else None if node.orelse else spot.after
    first = node.body[0]
    if not isinstance(first, ast.Return) or not isinstance(other, ast.Return):
        return None
    if first.value is None or other.value is None or _is_guard(spot.before) or spot.is_one_of_many:
        return None
    spot.refuse_comments(spot.line, last_line(other))
    return _chosen(spot, node, "return ", first.value, other.value, other if not node.orelse else node)


def _is_guard(statement: ast.stmt | None) -> bool:
    leaves = (ast.Return, ast.Raise, ast.Continue, ast.Break)
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], leaves)


def _chosen(spot: Spot, node: ast.If, head: str, value: ast.expr, other: ast.expr, last: ast.stmt) -> str:
    return spot.replaced(node, last, _lines(spot, node, head, value, other))


def _lines(spot: Spot, node: ast.If, head: str, value: ast.expr, other: ast.expr) -> list[str]:
    """Return the line of a choice, or, where one condition is asked, three with the choice on the middle one."""
    if not _is_choosable(value) or not _is_choosable(other) or not is_simple_test(node.test):
        raise spot.refuse("long_condition", "a part is a choice or a combination itself")
    test = spot.text(node.test)
    pair = _bool(value), _bool(other)
    chosen = pair[0] if None not in pair and pair[0] != pair[1] else None
    if chosen is None:
        text = _inner_choice(spot, node.test, value, other) or _choice(
            spot, node.test, _inside(spot, value), _inside(spot, other)
        )
    elif chosen:
        text = test if is_boolean(node.test) or _compares_text(node.test) else f"bool({test})"
    else:
        text = f"not {test}" if not isinstance(node.test, ast.BoolOp | ast.Compare) else f"not ({test})"
    if text.startswith("bool("):
        spot.refuse_shadowed("bool")
    line = f"{spot.indent}{head}{text}"
    if spot.fits(line) and len(line) <= MAX_LENGTH:
        return [line]
    inner = f"{spot.indent}{spot.source.indent_unit(spot.around.place.function)}{text}"
    if isinstance(node.test, ast.BoolOp) or not spot.fits(inner) or len(inner) > MAX_LENGTH:
        raise spot.refuse("long_condition", "the line would be too long")
    return [f"{spot.indent}{head.rstrip()} (", inner, f"{spot.indent})"]


def _choice(spot: Spot, test: ast.expr, value: str, other: str) -> str:
    """Return a conditional expression, without a `not` that only swaps its values."""
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    if asked is not None and asked.lineno == last_line(asked):
        test, value, other = asked, other, value
    if isinstance(test, ast.Name) and value == test.id:
        return f"{value} or {other}"
    return f"{value} if {spot.text(test)} else {other}"


def _is_choosable(value: ast.expr) -> bool:
    """Check for a value that reads well in a choice: a tuple does in parentheses."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return bool(parts) and all(is_simple_value(part) for part in parts)


def _inside(spot: Spot, value: ast.expr) -> str:
    text = spot.text(value)
    return f"({text})" if isinstance(value, ast.Tuple) and not text.startswith("(") else text


def _compares_text(test: ast.expr) -> bool:
    """Check for a comparison with a text: what is no boolean there is no text, and would not be asked in an `if`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq | ast.NotEq) or len(test.ops) > 1:
        return False
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) for part in (test.left, *test.comparators)
    )


def _inner_choice(spot: Spot, test: ast.expr, value: ast.expr, other: ast.expr) -> str | None:
    """Return one call with the choice in it, where two calls differ in one argument and nothing runs before that."""
    if (
        not isinstance(value, ast.Call)
        or not isinstance(other, ast.Call)
        or ast.dump(value.func) != ast.dump(other.func)
    ):
        return None
    pairs = list(zip(_arguments(value), _arguments(other), strict=False))
    if len(_arguments(value)) != len(_arguments(other)) or len(value.args) != len(other.args):
        return None
    if [each.arg for each in value.keywords] != [each.arg for each in other.keywords]:
        return None
    differing = [number for number, (one, two) in enumerate(pairs) if ast.dump(one) != ast.dump(two)]
    if len(differing) != 1 or not all(_is_inert(one) for one, _ in pairs[: differing[0]]) or not _is_inert(value.func):
        return None
    if any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(test)) and not isinstance(value.func, ast.Name):
        return None
    one, two = pairs[differing[0]]
    if not all(is_simple_value(part) for part in (one, two)):
        return None
    text, start = spot.text(value), spot.source.start_of(value)
    choice = _choice(spot, test, spot.text(one), spot.text(two))
    return text[: spot.source.start_of(one) - start] + choice + text[spot.source.end_of(one) - start :]


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_inert(value: ast.expr) -> bool:
    """Check that it makes no difference when an expression is worked out."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name | ast.Constant)


def is_simple_test(test: ast.expr) -> bool:
    """Check that a condition can be taken in at a glance."""
    parts = list(ast.walk(test))
    return not isinstance(test, ast.IfExp | ast.Lambda | ast.NamedExpr) and not any(
        isinstance(part, ast.NamedExpr | ast.Lambda | ast.IfExp | ast.Yield | ast.YieldFrom) for part in parts
    )


def _bool(value: ast.expr) -> bool | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None
