"""Refuses to move calls of functions that look at frames, and methods that a metaclass would read.

A helper that warns at `stacklevel=3`, or asks `sys._getframe(2)` who called, counts the functions between: one more
changes what it finds. A metaclass may give every function of a class body a meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.annotations.members import MemberTypes
from actors.capabilities.violation_fix.refactoring.annotations.modules import Package
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.hazards import FRAME_NAMES, last_name
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.placement import Host

# Metaclasses of Python that leave plain methods alone.
_HARMLESS = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType", "type", "typing.GenericMeta"})
_MOST_HOPS = 3
# What looks at an unknown frame may look at any.
_FAR = 9


class CalleeHazards:
    """Knows which functions of a file, and of those it imports from its package, look at frames."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._imported: dict[str, int] = {}

    def refuse(self, statements: Sequence[ast.stmt], host: Host | None) -> None:
        """Raise RefusedRefactoring where a block calls such a function, or its method would be read by a metaclass."""
        for statement in statements:
            for call in _calls(statement):
                if self._reach_of_callee(call) > 0:
                    message = f"{ast.unparse(call.func)} depends on the depth of the stack"
                    raise RefusedRefactoring("frame_inspection", message, (call.lineno,))
        if host is not None and (metaclass := self._metaclass_of(host.class_)) is not None:
            message = f"the metaclass {metaclass} of {host.class_.name} may read its methods"
            raise RefusedRefactoring("metaclass", message, (host.class_.lineno,))

    def _reach_of_callee(self, call: ast.Call) -> int:
        name = _own_callee(call)
        if name is not None and name in self._reaches:
            return self._reaches[name]
        full = self._package.module.resolve(call.func)
        if full is None or "." not in full:
            return 0
        if full not in self._imported:
            found = self._package.definition(full)
            function = found[2] if found is not None else None
            self._imported[full] = _reach(function) if isinstance(function, Function) else 0
        return self._imported[full]

    @cached_property
    def _reaches(self) -> dict[str, int]:
        """The distances, in frames, at which functions and methods of the file look above themselves."""
        functions = [node for node in ast.walk(self._package.module.tree) if isinstance(node, Function)]
        found = {function.name: reach for function in functions if (reach := _reach(function)) > 0}
        if not found:
            return found
        called = [(function.name, {_own_callee(call) for call in _calls(function)}) for function in functions]
        for _ in range(_MOST_HOPS):
            for name, callees in called:
                above = max((found[callee] - 1 for callee in callees if callee in found and callee != name), default=0)
                found[name] = max(found.get(name, 0), above)
        return found

    def _metaclass_of(self, class_: ast.ClassDef) -> str | None:
        """Return the name of a metaclass that may look at the class body, also of a base in the package."""
        module = self._package.module
        chain = [(module, class_)]
        members = MemberTypes(self._package)
        for base in class_.bases:
            full = module.resolve(base)
            chain += [(found, each) for found, _, each in members.classes(full)] if full is not None else []
        for where, each in chain:
            for keyword in each.keywords:
                name = where.resolve(keyword.value) or ast.unparse(keyword.value)
                if keyword.arg == "metaclass" and name not in _HARMLESS:
                    return name.rpartition(".")[2]
        return None


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))


def _own_callee(call: ast.Call) -> str | None:
    """Return the name of a function of the file, or of a method of the class at hand, that is called."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    is_own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in ("self", "cls")
    return call.func.attr if is_own and isinstance(call.func, ast.Attribute) else None


def _reach(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many frames above a function it looks at; its caller's own place in a warning counts as none."""
    reach = 0
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            levels = [keyword.value for keyword in node.keywords if keyword.arg == "stacklevel"]
            reach = max([reach, *(_number(level, _FAR) - 2 for level in levels)])
            if last_name(node.func) in FRAME_NAMES | {"stack"}:
                reach = max(reach, _number(node.args[0], _FAR) if node.args else _FAR)
    return reach


def _number(node: ast.expr, otherwise: int) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else otherwise
