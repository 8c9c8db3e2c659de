"""Joins conditions that ask the same twice, and returns that only join two conditions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.block_exits import is_boolean
from actors.capabilities.violation_fix.refactoring.conditionals import negated, negates_well
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.simplifications.choices import MAX_LENGTH, is_simple_test
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, is_simple_value
from actors.capabilities.violation_fix.refactoring.source_text import Edit, apply_edits, first_line, last_line

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def return_either(spot: Spot) -> str | None:
    """Write `if a: return True` and `return b` as `return a or b`, for False as `return not a and b`."""
    node, after = spot.node, spot.after
    if not isinstance(node, ast.If) or node.orelse or spot.source.is_elif(node) or not isinstance(after, ast.Return):
        return None
    value = _returned_truth(node.body)
    if value is None or after.value is None or isinstance(after.value, ast.Constant) or _is_guard(spot.before):
        return None
    if not is_simple_value(after.value) or not is_simple_test(node.test) or isinstance(node.test, ast.BoolOp):
        return None
    # What is true and no boolean would be returned itself.
    is_turned = isinstance(node.test, ast.UnaryOp)
    asked = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    if not (is_boolean(node.test) if value else negates_well(node.test) and (is_boolean(asked) or not is_turned)):
        return None
    spot.refuse_comments(spot.line, last_line(after))
    test = spot.text(node.test)
    joined = f"{test} or" if value else f"{negated(spot.source, node.test)} and"
    line = f"{spot.indent}return {joined} {spot.text(after.value)}"
    return spot.replaced(node, after, [line]) if spot.fits(line) and len(line) <= MAX_LENGTH else None


def _returned_truth(body: Sequence[ast.stmt]) -> bool | None:
    only = body[0] if len(body) == 1 else None
    value = only.value if isinstance(only, ast.Return) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _is_guard(statement: ast.stmt | None) -> bool:
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], _ENDS)


def join_same(spot: Spot) -> str | None:
    """Join `if a: x` and the next statement, `if a: y`, and write `if not a: y` there as an `else`.

    Only where `a` asks whether one local name is None: nothing that is done changes that unless it binds the name.
    """
    node, other = spot.node, spot.after
    if not isinstance(node, ast.If) or not isinstance(other, ast.If) or node.orelse or other.orelse:
        return None
    asked, asked_then = _asks_none(node.test), _asks_none(other.test)
    if asked is None or asked_then is None or asked[0] != asked_then[0] or spot.source.is_elif(node):
        return None
    name, is_same = asked[0], asked == asked_then
    if name not in spot.around.place.locals or _is_rebound(spot, name, node.body):
        return None
    # Behind a guard an `else` says nothing.
    if isinstance(node.body[-1], _ENDS):
        return None
    source = spot.source
    begins = [first_line(statement.body[0]) for statement in (node, other)]
    if begins[0] <= last_line(node.test) or begins[1] <= last_line(other.test):
        raise spot.refuse("shared_line", "a condition shares its line with its body")
    if source.indent(begins[0]) != source.indent(begins[1]):
        raise spot.refuse("shared_line", "the bodies are indented differently")
    gap = range(last_line(node) + 1, begins[1])
    spot.refuse_comments(gap.start, gap.stop - 1)
    between = "" if is_same else f"{spot.indent}else:{source.newline}"
    is_parted = is_same and source.is_blank(last_line(node) + 1)
    text = source.newline if is_parted else between
    return apply_edits(source.text, [Edit(source.starts[gap.start - 1], source.starts[gap.stop - 1], text)])


def _asks_none(test: ast.expr) -> tuple[str, bool] | None:
    """Return the name that a condition compares with None, and whether it is to be None."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return None
    right = test.comparators[0]
    if not isinstance(test.left, ast.Name) or not isinstance(right, ast.Constant) or right.value is not None:
        return None
    return test.left.id, isinstance(test.ops[0], ast.Is)


def _is_rebound(spot: Spot, name: str, body: Sequence[ast.stmt]) -> bool:
    """Return whether statements, or functions that they may call, bind or delete a name."""
    function = spot.around.place.function
    shared = {each for part in ast.walk(function) if isinstance(part, ast.Nonlocal | ast.Global) for each in part.names}
    return name in shared or any(name in bound_names(statement) for statement in body)
