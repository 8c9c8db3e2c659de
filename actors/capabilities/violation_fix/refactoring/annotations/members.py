"""Finds what classes and functions of a package declare: attributes, constants, results of calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.annotations.known_calls import ATTRIBUTES
from actors.capabilities.violation_fix.refactoring.annotations.modules import ModuleTypes, Package
from actors.capabilities.violation_fix.refactoring.annotations.types import Type, joined, union, without_none
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import parameters_of, statement_lists
from actors.capabilities.violation_fix.refactoring.placement import decorator_names

_MAX_BASES = 8
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
# Decorators after which a function still returns what it says.
_PLAIN_DECORATORS = frozenset(
    {
        *("staticmethod", "classmethod", "abstractmethod", "override", "final", "cache", "lru_cache", "wraps"),
        *("cached_property", "property", "deprecated"),
    }
)
_EMPTY_KINDS = {"[]": "list", "{}": "dict", "set()": "set", "()": "tuple", "''": "str"}
_CLASS_NAME = re.compile(r"[A-Z][a-z][A-Za-z0-9]*$")
# Functions are named there as classes are, and special forms look like calls of classes.
_FACTORIES = frozenset({"typing", "typing_extensions", "multiprocessing", "threading", "collections", "ctypes"})
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty"})


class MemberTypes:
    """Looks up declarations of classes, those of their bases in the package included."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def constant(self, full_name: str) -> Type | None:
        """Return the type of a module's variable, or of a class's attribute that is read on the class."""
        found = self._package.definition(full_name)
        if found is None:
            return None
        module, path, statement = found
        owner, _, _ = path.rpartition(".")
        if owner and self._is_enumeration(f"{module.name}.{owner}"):
            return Type(f"{module.name}.{owner}")
        return self._declared(statement, module)

    def _declared(self, statement: ast.stmt, module: ModuleTypes) -> Type | None:
        if isinstance(statement, ast.AnnAssign):
            return self._package.annotated(statement.annotation, module)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            full = module.resolve(statement.value.func)
            return self.call_result(full, is_awaited=False) if full is not None else None
        return literal_type(statement.value) if isinstance(statement, ast.Assign) else None

    def _is_enumeration(self, full_name: str) -> bool:
        found = self._package.definition(full_name)
        if found is None or not isinstance(found[2], ast.ClassDef):
            return False
        return any(found[0].resolve(base) in _ENUMS for base in found[2].bases)

    def classes(self, full_name: str) -> Iterator[tuple[ModuleTypes, str, ast.ClassDef]]:
        """Yield a class and its bases as far as they lie in the package, in the order they are searched."""
        pending, seen = [full_name], set[str]()
        while pending and len(seen) < _MAX_BASES:
            name = pending.pop(0)
            found = self._package.definition(name)
            if found is None or name in seen:
                continue
            seen.add(name)
            module, path, class_ = found
            if not isinstance(class_, ast.ClassDef):
                continue
            yield module, path, class_
            bases = (base.value if isinstance(base, ast.Subscript) else base for base in class_.bases)
            pending += [resolved for base in bases if (resolved := module.resolve(base)) is not None]

    def attribute(self, owner: Type, name: str) -> Type | None:
        """Return the type of an instance's attribute."""
        if owner.name in ATTRIBUTES:
            return ATTRIBUTES[owner.name].get(name)
        if owner.arguments:
            return None
        for module, _, class_ in self.classes(owner.name):
            member = _member(class_, name)
            if isinstance(member, Function):
                is_read = bool(decorator_names(member) & _PROPERTIES)
                return self._result(member, module, is_awaited=False) if is_read else None
            if isinstance(member, ast.AnnAssign):
                return self._package.annotated(member.annotation, module)
            found = self._set_in_init(class_, name, module)
            if found is not None or member is not None:
                return found if found is not None or member is None else self._declared(member, module)
        return None

    def _set_in_init(self, class_: ast.ClassDef, name: str, module: ModuleTypes) -> Type | None:
        """Return what methods assign to an attribute of `self`: by declaration, parameter or literal."""
        found: list[Type | None] = []
        for method in (each for each in class_.body if isinstance(each, Function)):
            for node in ast.walk(method):
                if isinstance(node, ast.AnnAssign) and _is_own(node.target, name):
                    return self._package.annotated(node.annotation, module)
                if method.name == "__init__" and isinstance(node, ast.Assign):
                    own = [target for target in node.targets if _is_own(target, name)]
                    found += [self._assigned(node.value, method, module)] if own else []
        return joined(found[:1])

    def _assigned(
        self, value: ast.expr, method: ast.FunctionDef | ast.AsyncFunctionDef, module: ModuleTypes
    ) -> Type | None:
        if isinstance(value, ast.Name):
            given = [each for each in parameters_of(method.args) if each.arg == value.id]
            is_plain = given and given[0] not in (method.args.vararg, method.args.kwarg)
            return self._package.annotated(given[0].annotation, module) if is_plain else None
        if isinstance(value, ast.Call):
            full = module.resolve(value.func)
            return self.call_result(full, is_awaited=False) if full is not None else None
        if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
            return self._either(value.values, method, module)
        return literal_type(value)

    def _either(
        self, values: Sequence[ast.expr], method: ast.FunctionDef | ast.AsyncFunctionDef, module: ModuleTypes
    ) -> Type | None:
        """Return the type of `a or b`: what is left of `a` is not None; an empty `b` of the same kind adds nothing."""
        *firsts, last = values
        found = [self._assigned(each, method, module) for each in firsts]
        known = [without_none(each) for each in found if each is not None]
        if len(known) < len(found):
            return None
        if len(known) == 1 and _EMPTY_KINDS.get(ast.unparse(last)) == known[0].name:
            return known[0]
        other = self._assigned(last, method, module)
        return union([*known, other]) if other is not None else None

    def call_result(self, full_name: str, *, is_awaited: bool) -> Type | None:
        """Return what a call of a function or class of the package gives."""
        found = self._package.definition(full_name)
        if found is None:
            return None if is_awaited else self._made_elsewhere(full_name)
        module, path, statement = found
        if isinstance(statement, ast.ClassDef):
            return None if self._is_generic(full_name) else Type(f"{module.name}.{path}")
        if not isinstance(statement, Function):
            return None
        owner, _, name = path.rpartition(".")
        if owner:
            return self.method_result(Type(f"{module.name}.{owner}"), name, is_awaited=is_awaited)
        return self._result(statement, module, is_awaited=is_awaited)

    def _made_elsewhere(self, full_name: str) -> Type | None:
        """Return what a call gives whose name is spelled as a class of another project is.

        Strict typing asks for type arguments, of which nothing is known.
        """
        root, _, rest = full_name.partition(".")
        if not _CLASS_NAME.match(rest.rpartition(".")[2]) or root in _FACTORIES or self._package.rules.is_strict:
            return None
        return None if self._package.is_missing(full_name) else Type(full_name)

    def instance(self, made: Type) -> Type | None:
        """Return the type of what a call of a class gives, for a class of the package without type arguments."""
        is_plain = not made.arguments and any(True for _ in self.classes(made.name)) and not self._is_generic(made.name)
        return made if is_plain else None

    def class_method_result(self, owner: Type, name: str, *, is_awaited: bool) -> Type | None:
        """Return what a method gives that is called on a class."""
        for _, _, class_ in self.classes(owner.name):
            member = _member(class_, name)
            if member is not None:
                is_found = isinstance(member, Function) and decorator_names(member) & {"classmethod", "staticmethod"}
                return self.method_result(owner, name, is_awaited=is_awaited) if is_found else None
        return None

    def _is_generic(self, full_name: str) -> bool:
        for _, _, class_ in self.classes(full_name):
            if getattr(class_, "type_params", None) or any(isinstance(base, ast.Subscript) for base in class_.bases):
                return True
            if any(keyword.arg == "metaclass" for keyword in class_.keywords) or _member(class_, "__new__") is not None:
                return True
        return False

    def method_result(self, owner: Type, name: str, *, is_awaited: bool) -> Type | None:
        """Return what a method gives."""
        if owner.arguments:
            return None
        for module, _, class_ in self.classes(owner.name):
            member = _member(class_, name)
            if isinstance(member, Function):
                if decorator_names(member) & _PROPERTIES:
                    return None
                found = self._result(member, module, is_awaited=is_awaited)
                is_self = found is not None and found.name in ("typing.Self", "typing_extensions.Self")
                return owner if is_self else found
            if member is not None:
                return None
        return None

    def _result(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, module: ModuleTypes, *, is_awaited: bool
    ) -> Type | None:
        decorators = decorator_names(function)
        if decorators - _PLAIN_DECORATORS or isinstance(function, ast.AsyncFunctionDef) is not is_awaited:
            return None
        if getattr(function, "type_params", None):
            return None
        found = self._package.annotated(function.returns, module)
        if found is None or found.name in ("typing.NoReturn", "typing.Never"):
            return None
        own = any(self._package.is_type_variable(part) and not part.name.endswith(".Self") for part in found.walk())
        return None if own else found


def _member(class_: ast.ClassDef, name: str) -> ast.stmt | None:
    """Return the statement of a class body that defines a name, the getter of a property before its setter."""
    pending = list(class_.body)
    while pending:
        statement = pending.pop(0)
        if isinstance(statement, Function | ast.ClassDef):
            if statement.name == name:
                return None if "overload" in decorator_names(statement) else statement
        elif isinstance(statement, ast.AnnAssign):
            if isinstance(statement.target, ast.Name) and statement.target.id == name:
                return statement
        elif isinstance(statement, ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == name for target in statement.targets):
                return statement
        else:
            pending = [*(inner for body in statement_lists(statement) for inner in body), *pending]
    return None


def _is_own(target: ast.expr, name: str) -> bool:
    is_named = isinstance(target, ast.Attribute) and target.attr == name
    return is_named and getattr(getattr(target, "value", None), "id", "") == "self"


def literal_type(value: ast.expr) -> Type | None:
    """Return the type of a literal that needs no name to be known."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str | bytes | bool | int | float):
        return Type(type(value.value).__name__)
    if isinstance(value, ast.JoinedStr):
        return Type("str")
    if isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)):
        return Type("bool")
    if isinstance(value, ast.List | ast.Set | ast.Tuple) and value.elts:
        element = joined([literal_type(each) for each in value.elts])
        if element is None:
            return None
        if isinstance(value, ast.Tuple):
            return Type("tuple", tuple(each for part in value.elts if (each := literal_type(part)) is not None))
        return Type("list" if isinstance(value, ast.List) else "set", (element,))
    return None
