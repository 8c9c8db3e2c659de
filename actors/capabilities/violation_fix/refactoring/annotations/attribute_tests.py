"""Finds attributes whose type an earlier test of the function settles for a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Function


def tested_before(function: Function, block: Sequence[ast.stmt]) -> str | None:
    """Return an attribute that a block reads from, and that a test above it, but none in it, tells apart from None."""
    begin = block[0].lineno
    tests = [test for part in ast.walk(function) for test in _test_of(part)]
    before = {ast.dump(part) for test in tests if test.lineno < begin for part in _narrowed(test)}
    if not before:
        return None
    nodes = [part for statement in block for part in ast.walk(statement)]
    inside = {ast.dump(part) for node in nodes for test in _test_of(node) for part in _narrowed(test)}
    for node in nodes:
        part = _read_from(node)
        if isinstance(part, ast.Attribute) and ast.dump(part) in before - inside:
            return ast.unparse(part)
    return None


def _test_of(node: ast.AST) -> list[ast.expr]:
    return [node.test] if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp) else []


def _narrowed(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the attributes that a test compares with None, asks for their class, or takes as true or false."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _narrowed(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _narrowed(test.operand)
    elif isinstance(test, ast.Compare):
        yield test.left
    elif isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance" and test.args:
        yield test.args[0]
    elif isinstance(test, ast.Attribute):
        yield test


def _read_from(node: ast.AST) -> ast.expr | None:
    """Return the object that an expression needs to be there."""
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        return node.value
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return node.iter
    if isinstance(node, ast.Call):
        return next((argument for argument in node.args if isinstance(argument, ast.Attribute)), node.func)
    return node.left if isinstance(node, ast.BinOp) else None
