"""Decides whether a new function becomes a method beside the old one or a function of the module."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, Scope, bound_in, local_names

# Implicit class methods; `__new__` is static, yet its first argument is the class as well.
_TAKES_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
# Classes whose metaclass or checker reads something into every function of the body.
_STRICT_BASES = frozenset({"Protocol", "TypedDict", "Structure"})


@dataclass(frozen=True, slots=True)
class Host:
    """Names the method around a block: new methods go beside it and are called on its first parameter."""

    class_: ast.ClassDef
    method: Function
    first_parameter: str
    is_class_method: bool


def decorator_names(function: Scope) -> frozenset[str]:
    """Return the last part of each decorator's name."""
    return frozenset(_last_name(decorator) for decorator in function.decorator_list)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def find_host(place: FunctionPlace) -> Host | None:
    """Return the method that a function is or lies in, where its first parameter can carry a new method."""
    chain: list[Scope] = [*place.parents, place.function]
    for outer, inner in reversed(list(pairwise(chain))):
        if isinstance(outer, ast.ClassDef) and isinstance(inner, Function):
            return _host(outer, inner, place.function)
    return None


def _unsubscripted(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def _is_of_asyncio(base: ast.expr) -> bool:
    """Check for a class such as `asyncio.Protocol`, which is an ordinary one."""
    return isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name) and base.value.id == "asyncio"


def _host(class_: ast.ClassDef, method: Function, function: Function) -> Host | None:
    decorators = decorator_names(method)
    arguments = [*method.args.posonlyargs, *method.args.args]
    bases = {_last_name(base) for base in map(_unsubscripted, class_.bases) if not _is_of_asyncio(base)}
    # To call a method would call `__getattribute__` again, without end.
    is_lookup = method.name == "__getattribute__"
    if not arguments or is_lookup or "staticmethod" in decorators or bases & _STRICT_BASES:
        return None
    first = arguments[0].arg
    takes_class = "classmethod" in decorators or method.name in _TAKES_CLASS
    if first == "self" and not takes_class and not any("hybrid" in name for name in decorators):
        kind = False
    elif takes_class:
        kind = True
    elif first in ("cls", "mcs", "mcls") and (bases == {"type"} or class_.name.endswith(("Meta", "Metaclass", "Type"))):
        kind = False
    elif decorators or first == "cls":
        return None
    else:
        kind = False
    if any(first in bound_in(part) for part in {method, function}):
        return None
    if function is not method and first in local_names(function):
        return None
    return Host(class_, method, first, kind)


def visible_to(host: Host, place: FunctionPlace) -> frozenset[str]:
    """Return the names of functions around the class of a method, which it sees as closures."""
    position = place.parents.index(host.class_)
    outer = [scope for scope in place.parents[:position] if isinstance(scope, Function)]
    return frozenset[str]().union(*(local_names(scope) for scope in outer))
