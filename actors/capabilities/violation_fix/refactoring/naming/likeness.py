"""Finds blocks of a function that are built alike: a reader wants both moved, or none."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import own_statement_lists

# Smaller blocks are alike by chance.
_LEAST_NODES = 18
# Unless they differ in nothing but constants.
_LEAST_NODES_OF_COPY = 8
_LEAST_LIKENESS = 0.85
# Two branches of one condition are held against each other by whoever reads them.
_LEAST_LIKENESS_OF_BRANCHES = 0.6


def has_twin(statements: Sequence[ast.stmt], function: Function, parents: Sequence[ast.stmt]) -> bool:
    """Return whether as many statements elsewhere in a function have nearly the same structure."""
    own = _structure(statements)
    if own.total() < _LEAST_NODES:
        return False
    others = _others(statements, function, parents)
    return any(_likeness(own, _structure(window)) >= _LEAST_LIKENESS for window in others)


def has_like_branch(statements: Sequence[ast.stmt], parents: Sequence[ast.stmt]) -> bool:
    """Return whether a block is one branch of a condition, and the one beside it is built much like it."""
    own = _structure(statements)
    if own.total() < _LEAST_NODES:
        return False
    shape = [type(each) for each in statements]
    alike = (other for other in _branches_beside(statements, parents) if [type(each) for each in other] == shape)
    return any(_likeness(own, _structure(other)) >= _LEAST_LIKENESS_OF_BRANCHES for other in alike)


def _branches_beside(statements: Sequence[ast.stmt], parents: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    branch = parents[-1] if parents else None
    if not isinstance(branch, ast.If):
        return
    if branch.orelse == list(statements):
        yield branch.body
    elif branch.body == list(statements):
        following = branch.orelse[0] if len(branch.orelse) == 1 else None
        yield following.body if isinstance(following, ast.If) else branch.orelse
        before = parents[-2] if len(parents) > 1 else None
        if isinstance(before, ast.If) and before.orelse == [branch]:
            yield before.body


def has_copy(statements: Sequence[ast.stmt], function: Function, parents: Sequence[ast.stmt]) -> bool:
    """Return whether statements elsewhere in a function differ from some in nothing but constants."""
    own = _without_constants(statements)
    if len(own) < _LEAST_NODES_OF_COPY:
        return False
    return any(_without_constants(window) == own for window in _others(statements, function, parents))


def _without_constants(statements: Sequence[ast.stmt]) -> list[tuple[type[ast.AST], str]]:
    parts = (part for statement in statements for part in ast.walk(statement))
    return [(type(part), getattr(part, "id", "") or getattr(part, "attr", "")) for part in parts]


def _others(
    statements: Sequence[ast.stmt], function: Function, parents: Sequence[ast.stmt]
) -> Iterator[Sequence[ast.stmt]]:
    """Yield as many neighbouring statements from everywhere else in a function."""
    inside = {id(part) for statement in statements for part in ast.walk(statement)}
    around = {id(parent) for parent in parents}
    for body in own_statement_lists(function):
        for window in _windows(body, len(statements)):
            if not any(id(statement) in inside or id(statement) in around for statement in window):
                yield window


def _structure(statements: Sequence[ast.stmt]) -> Counter[type[ast.AST]]:
    parts = (part for statement in statements for part in ast.walk(statement))
    return Counter(type(part) for part in parts if not isinstance(part, ast.expr_context))


def _likeness(one: Counter[type[ast.AST]], other: Counter[type[ast.AST]]) -> float:
    return (one & other).total() / max(one.total(), other.total(), 1)


def _windows(body: Sequence[ast.stmt], length: int) -> Iterator[Sequence[ast.stmt]]:
    for begin in range(len(body) - length + 1):
        yield body[begin : begin + length]
