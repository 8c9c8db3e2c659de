"""Lists how a statement or expression reads, binds, deletes and captures names, in evaluation order."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    Scope,
    comprehension_names,
    free_names,
    outer_parts,
)

# Calls that use a generator up before they return: what it reads, it reads then.
_CONSUMERS = frozenset(
    {"all", "any", "sum", "min", "max", "list", "tuple", "set", "frozenset", "dict", "sorted", "join", "bytes", "next"}
    | {"update", "extend", "Counter", "OrderedDict", "bytearray"}
)


class Kind(Enum):
    """Names what happens to a name."""

    READ = "read"
    BIND = "bind"
    MAYBE_BIND = "maybe bind"
    DELETE = "delete"
    CAPTURE = "capture"


@dataclass(frozen=True, slots=True)
class Event:
    """Records one thing that happens to a name."""

    kind: Kind
    name: str


class _Walker:
    def __init__(self, *, annotations_are_evaluated: bool) -> None:
        self.events: list[Event] = []
        self._conditional = 0
        self._hidden: list[frozenset[str]] = []
        self._annotations = annotations_are_evaluated

    def add(self, kind: Kind, name: str) -> None:
        if any(name in hidden for hidden in self._hidden) and kind is not Kind.MAYBE_BIND:
            return
        if kind is Kind.BIND and self._conditional:
            kind = Kind.MAYBE_BIND
        self.events.append(Event(kind, name))

    def visit(self, node: ast.AST | None) -> None:
        if node is None:
            return
        method = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
            self._comprehension(node)
        elif isinstance(node, Scope):
            self._definition(node)
        else:
            self.visit_all(ast.iter_child_nodes(node))

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            self.visit(node)

    def conditionally(self, nodes: Iterable[ast.AST | None]) -> None:
        self._conditional += 1
        self.visit_all(nodes)
        self._conditional -= 1

    def _visit_name(self, node: ast.Name) -> None:
        kinds = {ast.Load: Kind.READ, ast.Store: Kind.BIND, ast.Del: Kind.DELETE}
        self.add(kinds[type(node.ctx)], node.id)

    def _visit_namedexpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.add(Kind.MAYBE_BIND if self._hidden else Kind.BIND, node.target.id)

    def _visit_boolop(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self.conditionally(node.values[1:])

    def _visit_compare(self, node: ast.Compare) -> None:
        self.visit_all([node.left, node.comparators[0]])
        self.conditionally(node.comparators[1:])

    def _visit_ifexp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self.conditionally([node.body, node.orelse])

    def _visit_dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self.visit_all([key, value])

    def _visit_assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        self.conditionally([node.msg])

    def _visit_call(self, node: ast.Call) -> None:
        self.visit(node.func)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for argument in arguments:
            if isinstance(argument, ast.GeneratorExp) and name in _CONSUMERS:
                self._comprehension(argument)
            else:
                self.visit(argument)

    def _visit_lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._capture(free_names(node))

    def _visit_generatorexp(self, node: ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        before = len(self.events)
        self._comprehension(node)
        later = self.events[before:]
        self.events[before:] = [e if e.kind is not Kind.READ else Event(Kind.CAPTURE, e.name) for e in later]

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        self._hidden.append(comprehension_names(node))
        self._conditional += 1
        for index, generator in enumerate(node.generators):
            self.visit_all([generator.iter] if index else [])
            self.visit_all([generator.target, *generator.ifs])
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._conditional -= 1
        self._hidden.pop()

    def _definition(self, node: Scope) -> None:
        outer = outer_parts(node)
        if isinstance(node, Function) and not self._annotations:
            annotations = {
                id(part) for argument in ast.walk(node.args) for part in [getattr(argument, "annotation", None)]
            }
            outer = [part for part in outer if id(part) not in annotations and part is not node.returns]
        self.visit_all(outer)
        self._capture(free_names(node))
        self.add(Kind.BIND, node.name)

    def _capture(self, names: frozenset[str]) -> None:
        for name in sorted(names):
            self.add(Kind.CAPTURE, name)

    def _visit_assign(self, node: ast.Assign) -> None:
        self.visit_all([node.value, *node.targets])

    def _visit_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.add(Kind.READ, node.target.id)
        self.visit_all([node.value, node.target])

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        # The annotation of a local variable is never evaluated.
        self.visit(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.add(Kind.BIND, alias.asname or alias.name.partition(".")[0])

    _visit_importfrom = _visit_import

    def _visit_matchas(self, node: ast.MatchAs) -> None:
        self.visit(node.pattern)
        if node.name:
            self.add(Kind.BIND, node.name)

    def _visit_matchstar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.add(Kind.BIND, node.name)

    def _visit_matchmapping(self, node: ast.MatchMapping) -> None:
        self.visit_all([*node.keys, *node.patterns])
        if node.rest:
            self.add(Kind.BIND, node.rest)


def events_of(*nodes: ast.AST | None, annotations_are_evaluated: bool = True) -> tuple[Event, ...]:
    """Return the events of nodes evaluated one after the other."""
    walker = _Walker(annotations_are_evaluated=annotations_are_evaluated)
    walker.visit_all(nodes)
    return tuple(walker.events)
