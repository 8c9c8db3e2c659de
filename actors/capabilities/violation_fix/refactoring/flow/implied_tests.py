"""Leaves out one of two joined conditions where the other one decides alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple


def without_implied(first: ast.expr, second: ast.expr, kind: type[ast.boolop]) -> Sequence[ast.expr] | None:
    """Return the operands of `first or second`, or `and`, without one that changes nothing; None where all count.

    Only neighbours are compared, and only plain names: nothing is asked between them, and to ask them has no effect.
    """
    before, after = _operands(first, kind), _operands(second, kind)
    left, right = _fact_of(before[-1]), _fact_of(after[0])
    if left is None or right is None or left.name != right.name:
        return None
    if left == right:
        return [*before, *after[1:]]
    # None is false: whether it is None needs no question of its own beside whether it is true.
    is_missing = kind is ast.Or
    asks_none, asks_truth = _Fact(left.name, is_missing, True), _Fact(left.name, is_missing, False)
    if (left, right) == (asks_none, asks_truth):
        return [*before[:-1], *after]
    if (left, right) == (asks_truth, asks_none):
        return [*before, *after[1:]]
    # Of what is None nothing but that is asked: the truth of anything else is not, before as after.
    if (left, right) == (_Fact(left.name, not is_missing, True), _Fact(left.name, not is_missing, False)):
        return [*before, *after[1:]]
    return None


class _Fact(NamedTuple):
    """Tells what a condition asks of a name: whether it is missing or there, by `is None` or by its truth."""

    name: str
    is_missing: bool
    by_none: bool


def _fact_of(test: ast.expr) -> _Fact | None:
    if isinstance(test, ast.Name):
        return _Fact(test.id, False, False)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Name):
        return _Fact(test.operand.id, True, False)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
        return None
    right, operator = test.comparators[0], test.ops[0]
    is_none = isinstance(right, ast.Constant) and right.value is None
    is_fact = is_none and isinstance(operator, ast.Is | ast.IsNot)
    return _Fact(test.left.id, isinstance(operator, ast.Is), True) if is_fact else None


def _operands(test: ast.expr, kind: type[ast.boolop]) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, kind) else [test]
