"""Names the ways in which a block can be left, and knows which returned values cannot be None."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, own_nodes

_NEVER_NONE_CALLS = frozenset(
    {"str", "int", "float", "bool", "len", "list", "dict", "tuple", "set", "frozenset", "repr", "sorted", "isinstance"}
    | {"bytes", "sum", "any", "all", "hasattr", "callable", "issubclass", "range", "enumerate", "zip", "type", "id"}
)


class Form(Enum):
    """Names how the call that replaces a block goes on."""

    PLAIN = "go on after the call"
    RETURN = "return what the call returns"
    THEN_JUMP = "jump after the call"
    IF_JUMP = "jump if the call returns true"
    IF_RESULT = "return what the call returns unless it is None"
    IF_NONE = "jump if the call returns None, or else unpack its outputs"


_METHODS_OF_TEXT = frozenset({"join", "format"})


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str | bytes)
    )


def is_boolean(value: ast.expr) -> bool:
    """Check that an expression is True or False and nothing else."""
    if isinstance(value, ast.Compare):
        return all(isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in value.ops)
    if isinstance(value, ast.BoolOp):
        return all(is_boolean(part) for part in value.values)
    return isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)


def is_never_none(value: ast.expr | None, local_names: frozenset[str]) -> bool:
    """Check that an expression cannot be None whatever its names stand for."""
    if isinstance(value, ast.Constant):
        return value.value is not None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        # A method of a text that is written down, such as `", ".join(...)`.
        return _is_text(value.func.value) and value.func.attr in _METHODS_OF_TEXT
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod):
        return _is_text(value.left)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in _NEVER_NONE_CALLS and value.func.id not in local_names
    if isinstance(value, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in value.ops)
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.Not)
    literals = (ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(value, (*literals, ast.GeneratorExp, ast.Lambda))


def binds_no_none(statements: Sequence[ast.stmt], names: frozenset[str], place: FunctionPlace) -> bool:
    """Check that all that statements bind to names is something, and that nothing else of the function binds them."""
    nodes = [part for statement in statements for part in own_nodes(statement)]
    given = {
        id(target): node.value
        for node in nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for target in node.targets
    }
    stored = [node for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    bindings = [node for node in stored if node.id in names]
    if not all(id(node) in given and is_never_none(given[id(node)], place.locals) for node in bindings):
        return False
    everywhere = [node for node in ast.walk(place.function) if isinstance(node, ast.Name) and node.id in names]
    return bool(bindings) and sum(not isinstance(node.ctx, ast.Load) for node in everywhere) == len(bindings)
