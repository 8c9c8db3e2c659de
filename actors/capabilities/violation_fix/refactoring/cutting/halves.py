"""Finds cuts that leave half of a piece of work behind, or take half of it along."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    bound_names,
    names_read,
    own_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.naming.block_effects import ADDING

# Calls that go on with what was begun.
_FILLING = ADDING | {"update", "setdefault"}
_EMPTY_CALLS = frozenset({"list", "dict", "set", "tuple"})


def is_half_built(
    statements: Sequence[ast.stmt], parents: Sequence[ast.stmt], function: Function, made: frozenset[str]
) -> bool:
    """Return whether the code behind a block goes on filling what the block made: it would return half of it."""
    after = list(_beside(statements, parents, function, is_before=False))
    if any(_looks_further(statement, name) for statement in after for name in made):
        return True
    nodes = [node for statement in after for node in own_nodes(statement)]
    summed = {name for statement in statements for node in own_nodes(statement) for name in _added_to(node)}
    if any(made & summed & _added_to(node) for node in nodes):
        return True
    return any(_filled_by(node) in made for node in nodes)


def _added_to(node: ast.AST) -> frozenset[str]:
    """Return the name that a node adds something to: what a block began to sum up may be summed up behind it."""
    target = node.target if isinstance(node, ast.AugAssign) else None
    return frozenset({target.id}) if isinstance(target, ast.Name) else frozenset()


def _looks_further(statement: ast.stmt, name: str) -> bool:
    """Check for `if not found: found = …`, which looks elsewhere for what a block did not find."""
    if not isinstance(statement, ast.If) or statement.orelse or name not in bound_names(statement):
        return False
    first = statement.test.values[0] if isinstance(statement.test, ast.BoolOp) else statement.test
    if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.Not):
        missing = first.operand
    elif isinstance(first, ast.Compare) and isinstance(first.ops[0], ast.Is):
        missing = first.left
    else:
        return False
    return isinstance(missing, ast.Name) and missing.id == name


def _filled_by(node: ast.AST) -> str | None:
    """Return the name of what a node sets an item or attribute of, or adds to."""
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        filled = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
        filled = node.func.value
    else:
        return None
    return filled.id if isinstance(filled, ast.Name) else None


def is_half_assigned(
    statements: Sequence[ast.stmt],
    parents: Sequence[ast.stmt],
    function: Function,
    attributes: frozenset[str],
) -> bool:
    """Return whether a plain assignment beside a block sets an attribute of `self` that the block sets too."""
    beside = [
        *_beside(statements, parents, function, is_before=True),
        *_beside(statements, parents, function, is_before=False),
    ]
    assigned = (target for each in beside if isinstance(each, ast.Assign) for target in each.targets)
    assigned_or_typed = (*assigned, *(each.target for each in beside if isinstance(each, ast.AnnAssign)))
    return any(
        isinstance(target, ast.Attribute)
        and target.attr in attributes
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
        for target in assigned_or_typed
    )


def starts_outside(
    statements: Sequence[ast.stmt], parents: Sequence[ast.stmt], function: Function, inputs: frozenset[str]
) -> bool:
    """Return whether an input gets its first, constant value right before a block that alone reads it."""
    own = {id(part) for statement in statements for part in ast.walk(statement)}
    read = {
        part.id
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in own
    }
    body = _list_around(statements, parents, function)
    before = body[: body.index(statements[0])]
    return any(
        isinstance(each, ast.Assign | ast.AnnAssign)
        and each.value is not None
        and _is_start(each.value)
        and bool(bound_names(each) & inputs - read)
        for each in before
    )


def _is_start(value: ast.expr) -> bool:
    """Check for a constant, or a collection without items."""
    if isinstance(value, ast.Call):
        is_empty = not value.args and not value.keywords
        return is_empty and isinstance(value.func, ast.Name) and value.func.id in _EMPTY_CALLS
    return isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.Set) and not names_read(value)


def _beside(
    statements: Sequence[ast.stmt], parents: Sequence[ast.stmt], function: Function, *, is_before: bool
) -> Iterator[ast.stmt]:
    """Yield the statements before or behind a block, in its own list and in those around it."""
    inner: Sequence[ast.stmt] = statements
    around = list(parents)
    while True:
        body = _list_around(inner, around, function)
        begin = body.index(inner[0])
        yield from body[:begin] if is_before else body[begin + len(inner) :]
        if not around:
            return
        inner = [around.pop()]


def _list_around(statements: Sequence[ast.stmt], parents: Sequence[ast.stmt], function: Function) -> Sequence[ast.stmt]:
    lists = statement_lists(parents[-1]) if parents else [function.body]
    return next(body for body in lists if statements[0] in body)
