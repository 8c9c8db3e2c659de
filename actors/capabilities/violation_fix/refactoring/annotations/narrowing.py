"""Narrows the type of one name along the statements that lead to a place, as type checkers do."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.annotations.expressions import ExpressionTypes
from actors.capabilities.violation_fix.refactoring.annotations.modules import Package
from actors.capabilities.violation_fix.refactoring.annotations.types import (
    NONE,
    Type,
    members_of,
    union,
    without_none,
)
from actors.capabilities.violation_fix.refactoring.complexity import Loop, Try
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import Scope, bound_names, statement_lists

# The type of a name where control never comes.
NEVER = Type("Never")
UNKNOWN = Type("?")
_GENERIC = frozenset({"list", "dict", "set", "frozenset", "tuple", "type"})
_ENDS = frozenset({"sys.exit", "os._exit", "exit", "quit"})


_OWN_MODULES = frozenset({"typing", "collections", "typing_extensions", "abc"})


def _may_be_alias(name: str) -> bool:
    """Return whether a type of another package may be called so for something else; classes are in CamelCase too."""
    module = name.rpartition(".")[0].partition(".")[0]
    return bool(module) and module not in _OWN_MODULES and module not in sys.stdlib_module_names


class Narrowing:
    """Follows one name through the statements of a function."""

    def __init__(self, package: Package, expressions: ExpressionTypes, name: str, declared: Type) -> None:
        self._package = package
        self._expressions = expressions
        self._name = name
        self._declared = declared

    def at(self, body: Sequence[ast.stmt], path: Sequence[ast.stmt]) -> Type:
        """Return the type where the last statement of `path` begins; the others lie around it, outermost first."""
        current = self._declared
        for position, statement in enumerate(path):
            current = self.through(body[: body.index(statement)], current)
            if position + 1 < len(path):
                body = next(each for each in statement_lists(statement) if path[position + 1] in each)
                current = self._entering(statement, body, current)
        return self._declared if current == NEVER else current

    def _entering(self, statement: ast.stmt, body: Sequence[ast.stmt], current: Type) -> Type:
        if isinstance(statement, ast.If):
            return self.tested(statement.test, current, is_true=body is statement.body)
        if isinstance(statement, Loop):
            current = self._declared if self._binds(statement) else current
            if isinstance(statement, ast.While) and body is statement.body:
                return self.tested(statement.test, current, is_true=True)
            return current
        if isinstance(statement, Try) and body is not statement.body:
            return self._declared if self._binds(statement) else current
        is_subject = isinstance(statement, ast.Match) and self._is_name(statement.subject)
        return self._declared if is_subject else current

    def _binds(self, node: ast.AST) -> bool:
        return self._name in bound_names(node)

    def _is_name(self, node: ast.expr) -> bool:
        node = node.target if isinstance(node, ast.NamedExpr) else node
        return isinstance(node, ast.Name) and node.id == self._name

    def through(self, statements: Sequence[ast.stmt], current: Type) -> Type:
        """Return the type after some statements; NEVER where they do not come to their end."""
        for statement in statements:
            if current == NEVER:
                return current
            current = self._after(statement, current)
        return current

    def _after(self, statement: ast.stmt, current: Type) -> Type:
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return NEVER
        if isinstance(statement, ast.If):
            branches = [
                self.through(statement.body, self.tested(statement.test, current, is_true=True)),
                self.through(statement.orelse, self.tested(statement.test, current, is_true=False)),
            ]
            reached = [branch for branch in branches if branch != NEVER]
            return union(reached) if reached else NEVER
        if isinstance(statement, ast.Assert):
            return self.tested(statement.test, current, is_true=True)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(self._is_name(target) for target in targets):
                return self._assigned(statement.value)
        if isinstance(statement, ast.With) and not any(self._is_entered(item) for item in statement.items):
            return self.through(statement.body, current)
        if isinstance(statement, ast.Expr) and self._ends(statement.value):
            return NEVER
        return self._declared if self._binds(statement) and not isinstance(statement, Scope) else current

    def _is_entered(self, item: ast.withitem) -> bool:
        return item.optional_vars is not None and self._binds(item.optional_vars)

    def _ends(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and self._package.module.resolve(value.func) in _ENDS

    def _assigned(self, value: ast.expr) -> Type:
        """Narrow to what is assigned, where several types are declared; a checker may know it where we do not."""
        if len(members_of(self._declared)) == 1 and self._is_one_class():
            return self._declared
        return self._expressions.of(value) or UNKNOWN

    def _is_one_class(self) -> bool:
        """Return whether the declared type is no alias: of what that stands for, a checker knows which it is now."""
        name = self._declared.name
        found = self._package.definition(name) if "." in name else None
        return isinstance(found[2], ast.ClassDef) if found is not None else not _may_be_alias(name)

    def tested(self, test: ast.expr, current: Type, *, is_true: bool) -> Type:
        """Return the type where a condition came out true, or false."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.tested(test.operand, current, is_true=not is_true)
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is is_true:
                for value in test.values:
                    current = self.tested(value, current, is_true=is_true)
            return current
        if self._is_name(test):
            return without_none(current) if is_true else current
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test, current, is_true=is_true)
        if isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance" and len(test.args) == 2:
            return self._of_class(test.args, current, is_true=is_true) if self._is_name(test.args[0]) else current
        return current

    def _compared(self, test: ast.Compare, current: Type, *, is_true: bool) -> Type:
        operator, right = test.ops[0], test.comparators[0]
        if not self._is_name(test.left):
            return current
        is_none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, ast.IsNot | ast.NotEq | ast.NotIn):
            is_true = not is_true
        if is_none:
            return (NONE if NONE in members_of(current) else current) if is_true else without_none(current)
        is_equal = isinstance(operator, ast.Eq | ast.In | ast.NotEq | ast.NotIn) and is_true
        return without_none(current) if is_equal and isinstance(right, ast.Constant | ast.Tuple) else current

    def _of_class(self, arguments: Sequence[ast.expr], current: Type, *, is_true: bool) -> Type:
        classes = arguments[1].elts if isinstance(arguments[1], ast.Tuple) else [arguments[1]]
        asked = [self._package.annotated(each, self._package.module) for each in classes]
        wanted = [each for each in asked if each is not None]
        if len(wanted) < len(asked):
            return current
        names = {member.name for each in wanted for member in members_of(each)}
        kept = [member for member in members_of(current) if (member.name in names) is is_true]
        if not is_true:
            return union(kept) if kept else current
        if kept:
            return union(kept)
        # A class below the declared one, or beside it: what is asked for holds, but says nothing of type arguments.
        return UNKNOWN if names & _GENERIC else union(wanted)
