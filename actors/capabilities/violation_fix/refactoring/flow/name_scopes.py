"""Finds functions by qualified name and tells which names are bound in which scope."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.complexity import Function, complexity_of

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BUILTIN_NAMES = frozenset(dir(builtins))
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class FunctionPlace:
    """Locates one function: `parents` are the functions and classes around it, outermost first."""

    function: Function
    parents: tuple[Scope, ...]
    top_statement: ast.stmt
    siblings: Sequence[ast.stmt]

    @cached_property
    def qualified_name(self) -> str:
        return ".".join([*(parent.name for parent in self.parents), self.function.name])

    @property
    def is_method(self) -> bool:
        return bool(self.parents) and isinstance(self.parents[-1], ast.ClassDef)

    @cached_property
    def enclosing_functions(self) -> tuple[Function, ...]:
        return tuple(parent for parent in self.parents if isinstance(parent, Function))

    @cached_property
    def parameters(self) -> tuple[ast.arg, ...]:
        return parameters_of(self.function.args)

    @cached_property
    def bound_parameter(self) -> str | None:
        """The parameter that a method is called on (`self`, `cls`); None for functions and static methods."""
        arguments = [*self.function.args.posonlyargs, *self.function.args.args]
        is_static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in self.function.decorator_list)
        return arguments[0].arg if self.is_method and arguments and not is_static else None

    @cached_property
    def locals(self) -> frozenset[str]:
        """Names local to the function, its parameters included."""
        return local_names(self.function)


def places_of(tree: ast.Module) -> Iterator[FunctionPlace]:
    """Yield every function of a module, outer ones before those inside them."""
    for statement in tree.body:
        yield from _places([statement], (), statement, tree.body)


def _places(
    statements: Sequence[ast.stmt], parents: tuple[Scope, ...], top: ast.stmt, siblings: Sequence[ast.stmt]
) -> Iterator[FunctionPlace]:
    for statement in statements:
        if isinstance(statement, Function):
            yield FunctionPlace(statement, parents, top, siblings)
        inside = (*parents, statement) if isinstance(statement, Scope) else parents
        for body in statement_lists(statement):
            yield from _places(body, inside, top, body)


def find_function(tree: ast.Module, qualified_name: str) -> FunctionPlace | None:
    """Return the function of that name; of several (property setters, overloads) the most complex one."""
    wanted = qualified_name.replace(".<locals>", "")
    found = [place for place in places_of(tree) if place.qualified_name == wanted]
    return max(found, key=lambda place: complexity_of(place.function.body), default=None)


def statement_lists(node: ast.AST) -> list[list[ast.stmt]]:
    """Return all statement lists directly inside a node, those of handlers and cases included."""
    lists: list[list[ast.stmt]] = []
    for _, value in ast.iter_fields(node):
        if not isinstance(value, list) or not value:
            continue
        if isinstance(value[0], ast.stmt):
            lists.append(value)
        elif isinstance(value[0], ast.ExceptHandler | ast.match_case):
            lists.extend(part.body for part in value)
    return lists


def own_statement_lists(function: Function) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists of a function, but for those of functions and classes in it."""
    pending = [function.body]
    while pending:
        body = pending.pop()
        yield body
        pending += [inner for node in body if not isinstance(node, Scope) for inner in statement_lists(node)]


def parameters_of(arguments: ast.arguments) -> tuple[ast.arg, ...]:
    variable = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variable)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what lies in it, leaving out what runs in scopes nested in it.

    Comprehensions are entered, since a walrus in them binds in the function around them.
    """
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(_children(part))


def _children(part: ast.AST) -> list[ast.AST]:
    """Return what lies directly in a node and runs in its own scope, the last first."""
    if isinstance(part, Scope):
        return list(reversed(outer_parts(part)))
    if isinstance(part, ast.Lambda):
        return [*part.args.defaults, *(value for value in part.args.kw_defaults if value)]
    return list(reversed(list(ast.iter_child_nodes(part))))


def scope_nodes(scope: Scope | ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that run in a scope itself."""
    for statement in scope.body:
        yield from own_nodes(statement)


def outer_parts(node: Scope) -> list[ast.expr]:
    """Return what of a definition is evaluated in the scope around it."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    defaults = [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
    annotations = [argument.annotation for argument in parameters_of(node.args) if argument.annotation]
    return [*node.decorator_list, *defaults, *annotations, *([node.returns] if node.returns else [])]


def bound_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a statement or expression binds in the scope that it stands in."""
    found: set[str] = set()
    comprehension_targets: set[int] = set()
    for part in own_nodes(node):
        if isinstance(part, _Comprehension):
            targets = (name for generator in part.generators for name in ast.walk(generator.target))
            comprehension_targets.update(id(name) for name in targets)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            if id(part) not in comprehension_targets:
                found.add(part.id)
        else:
            found.update(_names_bound_by(part))
    return frozenset(found)


def bound_in(scope: Scope | ast.Module) -> frozenset[str]:
    """Return the names that the statements of a scope bind in it; parameters are not among them."""
    return frozenset[str]().union(*(bound_names(statement) for statement in scope.body))


def _names_bound_by(part: ast.AST) -> list[str]:
    if isinstance(part, Scope):
        return [part.name]
    if isinstance(part, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in part.names]
    if isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
        return [part.name]
    if isinstance(part, ast.MatchMapping) and part.rest:
        return [part.rest]
    return []


def declared_names(function: Scope) -> frozenset[str]:
    """Return the names that a scope declares global or nonlocal."""
    found = (node for node in scope_nodes(function) if isinstance(node, ast.Global | ast.Nonlocal))
    return frozenset(name for node in found for name in node.names)


def local_names(function: Function) -> frozenset[str]:
    parameters = {argument.arg for argument in parameters_of(function.args)}
    return (bound_in(function) | parameters) - declared_names(function)


def free_names(node: Function | ast.Lambda | ast.ClassDef) -> frozenset[str]:
    """Return the names that a nested scope may read from the scopes around it, or write there by `nonlocal`."""
    if isinstance(node, ast.Lambda):
        bound = {argument.arg for argument in parameters_of(node.args)} | bound_names(node.body)
        return names_read(node.body) - bound
    read = frozenset[str]().union(*(names_read(statement) for statement in node.body))
    if isinstance(node, ast.ClassDef):
        # A name bound in the class body is read from the scope around it until it is bound.
        return read
    own = frozenset(name for part in scope_nodes(node) if isinstance(part, ast.Nonlocal) for name in part.names)
    return (read - local_names(node)) | own


def names_read(node: ast.AST) -> frozenset[str]:
    """Return the names that an expression or statement may read, also from within scopes nested in it."""
    found: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, _Comprehension):
            found |= _read_in_comprehension(part)
            continue
        if isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Store):
                found.add(part.id)
        elif isinstance(part, Scope | ast.Lambda):
            found |= free_names(part)
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
        pending.extend(_children(part))
    return frozenset(found)


def _read_in_comprehension(node: _Comprehension) -> frozenset[str]:
    """Return what a comprehension reads from outside: only the first thing that it goes through is looked up there."""
    parts = (names_read(child) for child in ast.iter_child_nodes(node))
    inside = frozenset[str]().union(*parts) - comprehension_names(node)
    return inside | names_read(node.generators[0].iter)


def comprehension_names(node: _Comprehension) -> frozenset[str]:
    targets = (name for generator in node.generators for name in ast.walk(generator.target))
    return frozenset(name.id for name in targets if isinstance(name, ast.Name))


def names_in_module(tree: ast.AST) -> frozenset[str]:
    """Return every identifier that a file spells anywhere: variables, attributes, keywords, identifier-like strings."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "rest"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.update(value.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            found.update(word for word in node.value.replace(",", " ").split() if word.isidentifier())
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return frozenset(found)


def has_lazy_annotations(tree: ast.Module) -> bool:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
    return any(alias.name == "annotations" for node in imports for alias in node.names)
