"""Proves by the flow of control that a name is not None where a block ends."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from actors.capabilities.violation_fix.refactoring.block_exits import is_never_none
from actors.capabilities.violation_fix.refactoring.flow.control_flow import Node
from actors.capabilities.violation_fix.refactoring.flow.name_events import Kind
from actors.capabilities.violation_fix.refactoring.hazards import Jump

_READING = frozenset({Kind.READ, Kind.CAPTURE})
# What None has, too: `x.__class__` tells nothing of it.
_OF_NONE = frozenset(dir(None))
_BUILTIN_TYPES = frozenset({"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset"})


def is_surely_something(
    name: str, inside: frozenset[Node], entry: Node, exits: Iterable[tuple[Node, Node]], local_names: frozenset[str]
) -> bool:
    """Check that a name is not None on edges out of a block, whatever it was before the block."""
    proof = _Proof(name, local_names)
    proof.solve(inside, entry)
    return all(proof.holds_on(node, after) for node, after in exits)


def leaves(node: Node, jump: Jump | None) -> bool:
    """Return whether a node is a jump of the kind that the caller of a block takes over."""
    return isinstance(node.statement, ast.Return | ast.Break | ast.Continue) and type(node.statement) is type(jump)


class _Proof:
    def __init__(self, name: str, local_names: frozenset[str]) -> None:
        self.name = name
        self.local_names = local_names
        self._before: dict[Node, bool] = {}

    def solve(self, inside: frozenset[Node], entry: Node) -> None:
        self._before = dict.fromkeys(inside, True)
        self._before[entry] = False
        pending = list(inside)
        while pending:
            node = pending.pop()
            for after in node.successors:
                if self._before.get(after) and not self.holds_on(node, after):
                    self._before[after] = False
                    pending.append(after)

    def holds_on(self, node: Node, after: Node) -> bool:
        """Return whether the name is something whenever control goes from one node to the other."""
        before = self._before[node]
        if after in (*node.on_error, *node.on_swallow) and not (before and not self._binds(node)):
            return False
        return all(
            self._after(node, before, number) for number, successor in enumerate(node.next) if successor is after
        )

    def _binds(self, node: Node) -> bool:
        return any(event.name == self.name and event.kind not in _READING for event in node.events)

    def _after(self, node: Node, before: bool, edge: int) -> bool:
        statement = node.statement if node.acts else None
        if self._binds(node):
            return self._is_bound_to_something(statement)
        if isinstance(statement, ast.If | ast.While):
            # The first edge leads to the body.
            return before or self._uses(statement.test) or self._excludes(statement.test, is_true=edge == 0)
        simple = isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign)
        return before or (simple and self._uses(statement))

    def _is_bound_to_something(self, statement: ast.stmt | None) -> bool:
        if not isinstance(statement, ast.Assign) or not all(isinstance(each, ast.Name) for each in statement.targets):
            return False
        return is_never_none(statement.value, self.local_names)

    def _uses(self, node: ast.AST | None) -> bool:
        """Check for what raises an exception where the name is None, and is evaluated in any case."""
        return node is not None and any(self._would_fail(part) for part in _surely_evaluated(node))

    def _would_fail(self, part: ast.AST) -> bool:
        if isinstance(part, ast.Attribute):
            return self._is_name(part.value) and part.attr not in _OF_NONE
        if isinstance(part, ast.Call):
            return self._is_name(part.func)
        return isinstance(part, ast.Subscript) and self._is_name(part.value)

    def _is_name(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def _excludes(self, test: ast.expr, *, is_true: bool) -> bool:
        """Return whether the name is something where a condition came out so."""
        if isinstance(test, ast.Name):
            return is_true and self._is_name(test)
        if isinstance(test, ast.UnaryOp):
            return isinstance(test.op, ast.Not) and self._excludes(test.operand, is_true=not is_true)
        if isinstance(test, ast.BoolOp):
            # All parts are known to be true behind `and`, and to be false behind `or`.
            is_known = isinstance(test.op, ast.And) is is_true
            return is_known and any(self._excludes(part, is_true=is_true) for part in test.values)
        if isinstance(test, ast.Compare):
            return self._compares_with_none(test, is_true=is_true)
        return isinstance(test, ast.Call) and is_true and self._asks_for_builtin(test)

    def _compares_with_none(self, test: ast.Compare, *, is_true: bool) -> bool:
        right = test.comparators[0]
        is_none = isinstance(right, ast.Constant) and right.value is None
        if len(test.ops) > 1 or not is_none or not self._is_name(test.left):
            return False
        return isinstance(test.ops[0], ast.IsNot if is_true else ast.Is)

    def _asks_for_builtin(self, call: ast.Call) -> bool:
        if not isinstance(call.func, ast.Name) or call.func.id != "isinstance" or len(call.args) != 2:
            return False
        asked, kind = call.args
        kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
        are_builtin = all(isinstance(each, ast.Name) and each.id in _BUILTIN_TYPES - self.local_names for each in kinds)
        return self._is_name(asked) and bool(kinds) and are_builtin


def _surely_evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement or expression that are evaluated if it comes to its end."""
    yield node
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.BoolOp):
        parts = node.values[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    for part in parts:
        yield from _surely_evaluated(part)
