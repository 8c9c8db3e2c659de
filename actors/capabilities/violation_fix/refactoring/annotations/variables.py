"""Finds the types of local names, as declared and as narrowed where a block begins or ends.

A name has the type of its annotation, else of what is first assigned to it, as type checkers have it. Tests of
`None` and of `isinstance` before and around a block narrow it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import get_args

from actors.capabilities.violation_fix.refactoring.annotations.expressions import ExpressionTypes, targets_bound
from actors.capabilities.violation_fix.refactoring.annotations.modules import Package
from actors.capabilities.violation_fix.refactoring.annotations.narrowing import NEVER, Narrowing
from actors.capabilities.violation_fix.refactoring.annotations.types import (
    NONE,
    STR,
    Type,
    element_of,
    is_compatible,
    members_of,
    union,
)
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    bound_names,
    own_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.placement import find_host

_GROWTH = {"append": "list", "add": "set", "extend": "list", "appendleft": "collections.deque"}
_BINDING_OTHERWISE = (*get_args(Scope), ast.Import, ast.ImportFrom, ast.MatchAs, ast.MatchStar)
_Located = ast.stmt | ast.expr | ast.excepthandler | ast.pattern
_EMPTY = {"list": ast.List, "set": ast.Set, "dict": ast.Dict}


class LocalTypes:
    """Infers the types of the local names of one function."""

    def __init__(self, package: Package, place: FunctionPlace, outer: LocalTypes | None = None) -> None:
        self.place = place
        self._package = package
        self._outer = outer
        self.expressions = ExpressionTypes(package, self._declared_or_outer, self._is_local, self._called)
        self._known: dict[str, Type | None] = {}
        self._pending: set[str] = set()
        self._times_cut_short = 0
        self._provisional: set[str] = set()
        located = (
            node for statement in place.function.body for node in own_nodes(statement) if isinstance(node, _Located)
        )
        self._nodes = sorted(located, key=lambda node: (node.lineno, node.col_offset))

    def _is_local(self, name: str) -> bool:
        return name in self.place.locals or (self._outer is not None and self._outer._is_local(name))

    def _declared_or_outer(self, name: str) -> Type | None:
        if name in self.place.locals or self._outer is None:
            return self.declared(name)
        return self._outer._declared_or_outer(name)

    def annotation_of(self, name: str) -> ast.expr | None:
        """Return the annotation that a name has as a parameter or by a declaration."""
        arguments = self.place.function.args
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for argument in plain:
            if argument.arg == name and argument.annotation is not None:
                return argument.annotation
        for node in self._nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                return node.annotation
        return None

    def keeps_annotation(self, name: str) -> bool:
        """Return whether the annotation of a name holds to its end: what is bound to a parameter may be something else.

        Where a type checker runs, it sees to that; a declaration in the function is meant for all that follows.
        """
        annotation = self.annotation_of(name)
        found = self._package.annotated(annotation, self._package.module) if annotation is not None else None
        return annotation is None or self._keeps(name, annotation, found)

    def _keeps(self, name: str, annotation: ast.expr, found: Type | None) -> bool:
        if not any(annotation is argument.annotation for argument in self.place.parameters):
            return True
        bound = list(self._bindings(name)) if not self._package.rules.is_checked else []
        return not bound or (found is not None and self._agree(name, found, iter(bound)))

    def declared(self, name: str) -> Type | None:
        """Return the type that holds wherever a name of the function is bound; None where it is not known."""
        if name in self._known:
            return self._known[name]
        if name in self._pending:
            self._times_cut_short += 1
            return None
        before = self._times_cut_short
        self._pending.add(name)
        found = self._declared(name)
        self._pending.discard(name)
        if self._pending and self._times_cut_short > before:
            # Known once the names are that it was found through.
            self._provisional.add(name)
            self._known.pop(name, None)
            return found
        self._known[name] = found
        if not self._pending and self._provisional:
            relied_on, self._provisional = sorted(self._provisional), set()
            if found is not None and any(self.declared(each) is None for each in relied_on):
                self._known = {name: None}
        return self._known[name]

    def _declared(self, name: str) -> Type | None:
        annotation = self.annotation_of(name)
        if annotation is not None:
            if _names_in(annotation) & self.place.locals:
                return None
            found = self._package.annotated(annotation, self._package.module)
            return found if self._keeps(name, annotation, found) else None
        given = self._given(name)
        if given is not None or name in {argument.arg for argument in self.place.parameters}:
            return given
        bindings = self._bindings(name)
        first = next(bindings, None)
        if first == NONE:
            later = next((each for each in bindings if each != NONE), None)
            first = union([later, NONE]) if later is not None else None
        if first is None or (not self._package.rules.is_checked and not self._agree(name, first, bindings)):
            return None
        return first

    def _agree(self, name: str, first: Type, bindings: Iterator[Type | None]) -> bool:
        """Check all bindings, where no type checker does: one name may hold values of different types there.

        While they are checked, the name has the first type: `count = count + 1` is of that type, if `count` is.
        """
        known = dict(self._known)
        self._known[name] = first
        before = self._times_cut_short
        for each in bindings:
            # What depends on a name that is being looked for is checked once that is found.
            is_open, before = self._times_cut_short > before, self._times_cut_short
            if (each is None and not is_open) or (each is not None and not is_compatible(each, first)):
                self._known = known
                return False
        return True

    def _called(self, name: str, is_awaited: bool) -> Type | None:
        """Return what a call of a nested function gives, where the name stands for nothing else."""
        if name not in self.place.locals:
            return self._outer._called(name, is_awaited) if self._outer is not None else None
        binding = [node for node in self._nodes if name in _bound_itself(node)]
        function = binding[0] if len(binding) == 1 else None
        if not isinstance(function, Function) or function.decorator_list or function.returns is None:
            return None
        is_other = isinstance(function, ast.AsyncFunctionDef) is not is_awaited
        if is_other or _names_in(function.returns) & self.place.locals:
            return None
        found = self._package.annotated(function.returns, self._package.module)
        is_open = found is None or any(self._package.is_type_variable(part) for part in found.walk())
        return None if is_open else found

    def _given(self, name: str) -> Type | None:
        """Return the type of a method's first parameter, or of one that gathers arguments."""
        host, arguments = find_host(self.place), self.place.function.args
        if host is not None and host.first_parameter == name and host.method is self.place.function:
            path = ".".join(parent.name for parent in self.place.parents)
            module = self._package.module.name
            return None if host.is_class_method else Type(f"{module}.{path}")
        for argument in (arguments.vararg, arguments.kwarg):
            if argument is not None and argument.arg == name and argument.annotation is not None:
                inner = self._package.annotated(argument.annotation, self._package.module)
                if inner is None:
                    return None
                is_all = argument is arguments.vararg
                return Type("tuple", (inner, Type("..."))) if is_all else Type("dict", (STR, inner))
        return None

    def _bindings(self, name: str) -> Iterator[Type | None]:
        """Yield the types of what is bound to a name, in the order of the text."""
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                yield from (self._assigned(node, each, name) for each in node.targets if name in _names_stored(each))
            elif isinstance(node, ast.For | ast.AsyncFor) and name in _names_stored(node.target):
                element = element_of(self.expressions.of(node.iter)) if isinstance(node, ast.For) else None
                yield targets_bound(node.target, element).get(name)
            elif isinstance(node, ast.With | ast.AsyncWith):
                for item in node.items:
                    target = item.optional_vars
                    if target is not None and name in _names_stored(target):
                        yield targets_bound(target, self._entered(item, node)).get(name)
            elif isinstance(node, ast.NamedExpr) and node.target.id == name:
                yield self.expressions.of(node.value)
            elif isinstance(node, ast.ExceptHandler) and node.name == name:
                yield self._caught_as(name)
            elif isinstance(node, _BINDING_OTHERWISE) and name in _bound_itself(node):
                yield None

    def _assigned(self, node: ast.Assign, target: ast.expr, name: str) -> Type | None:
        if isinstance(target, ast.Name) and (kind := _empty_kind(node.value)) is not None:
            return self._filled(kind, name, node)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for each, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(each, ast.Name) and each.id == name and _empty_kind(value) is not None:
                    return None
        return targets_bound(target, self.expressions.of(node.value)).get(name)

    def _filled(self, kind: str, name: str, after: ast.Assign) -> Type | None:
        """Return the type of an empty container by what is first put into it."""
        for node in self._nodes:
            if (node.lineno, node.col_offset) <= (after.lineno, after.col_offset):
                continue
            if kind == "dict" and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                target = node.targets[0]
                if getattr(target.value, "id", None) == name:
                    pair = self.expressions.all_of([target.slice, node.value])
                    return Type("dict", pair) if pair is not None else None
            method = _method_called_on(node, name)
            if isinstance(node, ast.Call) and node.args and method is not None and _GROWTH.get(method) == kind:
                value = self.expressions.of(node.args[0])
                value = element_of(value) if method == "extend" else value
                return Type(kind, (value,)) if value is not None else None
        return None

    def _entered(self, item: ast.withitem, node: ast.With | ast.AsyncWith) -> Type | None:
        if isinstance(node, ast.AsyncWith):
            return None
        value = self.expressions.of(item.context_expr)
        if value is None or value.name in ("typing.TextIO", "typing.BinaryIO"):
            return value
        return self.expressions.members.method_result(value, "__enter__", is_awaited=False)

    def _caught_as(self, name: str) -> Type | None:
        """Return the type of what handlers of a name catch; None where they differ: a block may lie in any of them."""
        handlers = [node for node in self._nodes if isinstance(node, ast.ExceptHandler) and node.name == name]
        found = {self._caught(handler) for handler in handlers}
        return found.pop() if len(found) == 1 else None

    def _caught(self, node: ast.ExceptHandler) -> Type | None:
        parts = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        found = [self._package.annotated(part, self._package.module) for part in parts]
        known = [each for each in found if each is not None]
        return union(known) if known and len(known) == len(found) else None

    def fills_first(self, name: str, statements: Sequence[ast.stmt]) -> bool:
        """Check for an empty container whose type a checker learns only from statements: they must not move away."""
        if self.annotation_of(name) is not None:
            return False
        inside = {id(node) for statement in statements for node in ast.walk(statement)}
        begins = statements[0].lineno
        empties = [
            node
            for node in self._nodes
            if isinstance(node, ast.Assign)
            and id(node) not in inside
            and node.lineno < begins
            and _empty_kind(node.value) is not None
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        ]
        if not empties:
            return False
        grown = [node.lineno for node in self._nodes if _method_called_on(node, name) in _GROWTH]
        stored = [
            node.lineno
            for node in self._nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", None) == name
        ]
        return not any(empties[0].lineno < line < begins for line in (*grown, *stored))

    # Narrowed types

    def before(self, name: str, block: Sequence[ast.stmt], parents: Sequence[ast.stmt]) -> Type | None:
        """Return the type of a name where a block begins; `parents` are the statements around it, outermost first."""
        if name not in self.place.locals:
            return self._declared_or_outer(name)
        declared = self.declared(name)
        if declared is None:
            return None
        narrowing = Narrowing(self._package, self.expressions, name, declared)
        return narrowing.at(self.place.function.body, [*parents, block[0]])

    def after(self, name: str, block: Sequence[ast.stmt], parents: Sequence[ast.stmt]) -> Type | None:
        """Return the type of a name where a block ends, if it comes to its end."""
        declared = self.declared(name)
        if declared is None:
            return None
        begin = self.before(name, block, parents)
        narrowing = Narrowing(self._package, self.expressions, name, declared)
        end = narrowing.through(block, begin or declared)
        return declared if end == NEVER else end

    def fits_in(self, name: str, block: Sequence[ast.stmt], type_: Type) -> bool:
        """Check that what a block binds to a name is of a type."""
        for node in (part for statement in block for part in own_nodes(statement)):
            if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
                value = self.expressions.of(node.value)
                if value is None or not is_compatible(value, type_):
                    return False
            elif isinstance(node, ast.AugAssign) and getattr(node.target, "id", None) == name:
                if any(member == NONE for member in members_of(type_)):
                    return False
            elif not isinstance(node, ast.Assign | ast.Name) and name in _bound_itself(node):
                return False
        return True


def _method_called_on(node: ast.AST, name: str) -> str | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node.func.attr if getattr(node.func.value, "id", None) == name else None


def _names_in(annotation: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(annotation) if isinstance(node, ast.Name))


def _names_stored(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _bound_itself(node: ast.AST) -> frozenset[str]:
    """Return the names that a node binds itself, statements inside it left out."""
    if isinstance(node, ast.stmt) and not isinstance(node, Scope) and statement_lists(node):
        targets = [getattr(node, "target", None)]
        targets += [item.optional_vars for item in getattr(node, "items", [])]
        return frozenset(name for target in targets if target is not None for name in _names_stored(target))
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        return frozenset({node.name} if node.name else ())
    return bound_names(node) if isinstance(node, ast.stmt | ast.NamedExpr) else frozenset()


def _empty_kind(value: ast.expr) -> str | None:
    for kind, node in _EMPTY.items():
        if isinstance(value, node) and not (getattr(value, "elts", None) or getattr(value, "keys", None)):
            return kind
    is_call = isinstance(value, ast.Call) and not value.args and not value.keywords
    name = getattr(value.func, "id", "") if is_call and isinstance(value, ast.Call) else ""
    return name if name in _EMPTY else None


def local_types(package: Package, place: FunctionPlace, places: Sequence[FunctionPlace]) -> LocalTypes:
    """Return the types of a function's names, those of the functions around it known."""
    outer = None
    for parent in place.parents:
        if isinstance(parent, Function):
            around = next((each for each in places if each.function is parent), None)
            outer = LocalTypes(package, around, outer) if around is not None else outer
    return LocalTypes(package, place, outer)
