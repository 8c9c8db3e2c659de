"""Finds the names of outer functions that a block reads, and refuses those that may change."""

from __future__ import annotations

import ast
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.data_flow import DataFlow
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    bound_names,
    local_names,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring


class OuterNames:
    """Knows the names of the functions around one function, and which of them may change."""

    def __init__(self, place: FunctionPlace) -> None:
        self._place = place
        chain: list[Scope] = [*place.parents, place.function]
        inner_first = reversed(list(pairwise(chain)))
        self._scopes = [
            (outer, inner, local_names(outer)) for outer, inner in inner_first if isinstance(outer, Function)
        ]
        self._flows: dict[Function, DataFlow] = {}
        self._checked: dict[str, RefusedRefactoring | None] = {}

    def among(self, read: frozenset[str]) -> frozenset[str]:
        """Return those of some names that belong to functions around; raise where one of them may change."""
        read -= self._place.locals
        found: set[str] = set()
        for outer, inner, bound in self._scopes:
            names = read & bound
            read -= names
            found |= names
            for name in sorted(names):
                self._check(outer, inner, name)
        return frozenset(found)

    def _check(self, outer: Function, inner: Scope, name: str) -> None:
        if name not in self._checked:
            try:
                self._refuse_changing(outer, inner, name)
            except RefusedRefactoring as refused:
                self._checked[name] = refused
            else:
                self._checked[name] = None
        refusal = self._checked[name]
        if refusal is not None:
            raise refusal

    def _refuse_changing(self, scope: Function, inner: Scope, name: str) -> None:
        """Refuse a name of an outer function that may be bound once more after the inner one is defined."""
        binders = [statement for statement in _all_statements(scope) if name in binds_directly(statement)]
        is_shared = any(isinstance(node, ast.Nonlocal) and name in node.names for node in ast.walk(scope))
        if not is_shared and binders == [inner]:
            return
        if scope not in self._flows:
            self._flows[scope] = DataFlow(scope)
        flow = self._flows[scope]
        bit = flow.bits([name])
        defined_at = flow.graph.entry_of[_statement_around(scope, inner)]
        is_bound_later = any(flow.bound_by(node) & bit for node in flow.reachable_from([defined_at]))
        if is_shared or is_bound_later or not flow.surely_bound_at[defined_at] & bit:
            message = f"{name} of the outer function {scope.name} may change or be unbound"
            raise RefusedRefactoring("free_name", message, (self._place.function.lineno,))


def _all_statements(scope: Function) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    pending = list(scope.body)
    while pending:
        statement = pending.pop()
        found.append(statement)
        if not isinstance(statement, Scope):
            pending += [inner for body in statement_lists(statement) for inner in body]
    return found


def _statement_around(scope: Function, inner: Scope) -> ast.stmt:
    statements = _all_statements(scope)
    return inner if inner in statements else next(found for found in statements if inner in ast.walk(found))


def binds_directly(statement: ast.stmt) -> frozenset[str]:
    """Return what a statement binds itself, statements inside it left out."""
    if isinstance(statement, Scope) or not statement_lists(statement):
        return bound_names(statement)
    names: set[str] = set()
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.ExceptHandler):
            names |= {child.name} if child.name else set()
        elif isinstance(child, ast.match_case):
            names |= bound_names(child.pattern)
        elif not isinstance(child, ast.stmt):
            names |= bound_names(child)
    return frozenset(names)
