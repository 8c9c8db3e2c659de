"""Resolves the names of a module, and of the modules of its package, to what they stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from actors.capabilities.violation_fix.refactoring.annotations.types import (
    NONE,
    PARAMETER_LIST,
    VERBATIM,
    Type,
    named,
    union,
)
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    BUILTIN_NAMES,
    Scope,
    bound_names,
    has_lazy_annotations,
    statement_lists,
)

MAX_MODULES = 60
_MAX_HOPS = 5
THIS = "this_module"
# Say something of a declaration and nothing of the type, which is their first argument.
_TRANSPARENT = frozenset(
    {
        *("typing.ClassVar", "typing.Final", "typing.Required", "typing.NotRequired"),
        *("typing.Annotated", "typing_extensions.Annotated"),
    }
)


class ModuleSources(Protocol):
    """Reads other modules of the package that a file belongs to."""

    def source_of(self, module: str) -> tuple[str, bool] | None:
        """Return the text of a module by its dotted name, and whether it is a package; None where it is not there."""


@dataclass(frozen=True)
class TypingRules:
    """Says what a project asks of annotations; `module` is the dotted name of the file, `is_package` its being one.

    `is_strict`: every function has to be annotated. `is_checked`: the project runs a type checker. `min_python`: the
    oldest Python that the code is for, if it is known.
    """

    module: str = THIS
    is_package: bool = False
    sources: ModuleSources | None = None
    is_strict: bool = False
    is_checked: bool = False
    min_python: tuple[int, int] | None = None


@dataclass(frozen=True)
class Binding:
    """Records what a name of a module stands for and where it is bound."""

    target: str
    line: int
    is_for_types: bool = False


class ModuleTypes:
    """Resolves names at the top of one module."""

    def __init__(self, tree: ast.Module, name: str, *, is_package: bool = False) -> None:
        self.tree = tree
        self.name = name
        self._package = name if is_package else name.rpartition(".")[0]
        self.is_lazy = has_lazy_annotations(tree)

    @cached_property
    def bindings(self) -> Mapping[str, Binding]:
        found: dict[str, Binding] = {}
        self._bind(self.tree.body, found, is_for_types=False)
        return found

    def _bind(self, statements: Sequence[ast.stmt], found: dict[str, Binding], *, is_for_types: bool) -> None:
        for statement in statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    target = alias.name if alias.asname else alias.name.partition(".")[0]
                    name = alias.asname or target
                    found.setdefault(name, Binding(target, statement.lineno, is_for_types))
            elif isinstance(statement, ast.ImportFrom):
                source = self._imported_from(statement)
                for alias in statement.names:
                    target = f"{source}.{alias.name}"
                    found.setdefault(alias.asname or alias.name, Binding(target, statement.lineno, is_for_types))
            elif isinstance(statement, Scope) or not statement_lists(statement):
                for name in bound_names(statement):
                    found.setdefault(name, Binding(f"{self.name}.{name}", statement.lineno, is_for_types))
            else:
                only_types = is_for_types or (isinstance(statement, ast.If) and _is_type_checking(statement.test))
                for body in statement_lists(statement):
                    self._bind(body, found, is_for_types=only_types)

    def _imported_from(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self._package.split(".")
        base = ".".join(parts[: len(parts) - statement.level + 1])
        return f"{base}.{statement.module}" if statement.module else base

    @cached_property
    def has_star_imports(self) -> bool:
        imports = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return any(alias.name == "*" for each in imports for alias in each.names)

    def resolve(self, node: ast.expr) -> str | None:
        """Return the full name of a dotted expression; builtins have none but their own."""
        if isinstance(node, ast.Name):
            if node.id in self.bindings:
                return self.bindings[node.id].target
            return node.id if node.id in BUILTIN_NAMES else None
        if isinstance(node, ast.Attribute):
            value = self.resolve(node.value)
            return f"{value}.{node.attr}" if value is not None else None
        return None

    def find(self, path: str) -> ast.stmt | None:
        """Return the statement that defines a name of the module, or `Class.name`."""
        body: Sequence[ast.stmt] = self.tree.body
        found: ast.stmt | None = None
        for part in path.split("."):
            found = next((each for each in _flat(body) if _defines(each, part)), None)
            if found is None:
                return None
            body = found.body if isinstance(found, ast.ClassDef) else []
        return found


def _flat(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, Scope) or not statement_lists(statement):
            found.append(statement)
        else:
            found += [inner for part in statement_lists(statement) for inner in _flat(part)]
    return found


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, Scope):
        return statement.name == name
    return isinstance(statement, ast.Assign | ast.AnnAssign) and name in bound_names(statement)


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "id", None) == "TYPE_CHECKING" or getattr(test, "attr", None) == "TYPE_CHECKING"


class Package:
    """Finds definitions by their full names, in the file at hand and in other modules of its package."""

    def __init__(self, tree: ast.Module, rules: TypingRules) -> None:
        self.module = ModuleTypes(tree, rules.module, is_package=rules.is_package)
        self.rules = rules
        self._modules: dict[str, ModuleTypes | None] = {rules.module: self.module}

    def _module(self, name: str) -> ModuleTypes | None:
        if name not in self._modules:
            sources = self.rules.sources
            read = sources.source_of(name) if sources is not None and len(self._modules) < MAX_MODULES else None
            try:
                found = ModuleTypes(ast.parse(read[0]), name, is_package=read[1]) if read is not None else None
            except (SyntaxError, ValueError, RecursionError):
                found = None
            self._modules[name] = found
        return self._modules[name]

    def definition(self, full_name: str, hops: int = 0) -> tuple[ModuleTypes, str, ast.stmt] | None:
        """Return the module, the path in it and the statement that define a name; follows imports."""
        module_name, path = full_name, ""
        while module_name:
            head, _, last = module_name.rpartition(".")
            path = f"{last}.{path}" if path else last
            module_name = head
            module = self._module(head) if head else None
            if module is None:
                continue
            found = module.find(path)
            if found is not None:
                return module, path, found
            first, _, rest = path.partition(".")
            binding = module.bindings.get(first)
            if binding is None or hops >= _MAX_HOPS:
                return None
            target = f"{binding.target}.{rest}" if rest else binding.target
            return self.definition(target, hops + 1) if target != full_name else None
        return None

    def full_name(self, name: str) -> str:
        """Return the name of a class where it is defined, so that two imports of it compare equal."""
        found = self.definition(name) if "." in name else None
        return f"{found[0].name}.{found[1]}" if found is not None else name

    def annotated(self, node: ast.expr | None, module: ModuleTypes) -> Type | None:
        """Return the type that an annotation of a module means; None where it is not understood."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return self._constant(node.value, module)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [self.annotated(side, module) for side in (node.left, node.right)]
            return union([side for side in sides if side is not None]) if None not in sides else None
        if isinstance(node, ast.Name | ast.Attribute):
            name = module.resolve(node)
            return self._class_type(name) if name is not None else None
        if isinstance(node, ast.Subscript):
            return self._generic(node, module)
        if isinstance(node, ast.List):
            inner = [self.annotated(each, module) for each in node.elts]
            known = [each for each in inner if each is not None]
            return Type(PARAMETER_LIST, tuple(known)) if len(known) == len(inner) else None
        return None

    def _constant(self, value: object, module: ModuleTypes) -> Type | None:
        if value is None:
            return NONE
        if value is Ellipsis:
            return Type("...")
        if not isinstance(value, str):
            return None
        try:
            return self.annotated(ast.parse(value.strip(), mode="eval").body, module)
        except (SyntaxError, ValueError, RecursionError):
            return None

    def _class_type(self, name: str) -> Type | None:
        full = self.full_name(name)
        found = self.definition(full) if "." in full else None
        if (found is None and self.is_missing(full)) or (found is not None and isinstance(found[2], Function)):
            return None
        return named(full)

    def is_missing(self, name: str) -> bool:
        """Return whether a module of the package should define a name, but no statement that is understood does."""
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            module = self._module(".".join(parts[:count]))
            if module is not None:
                binding = module.bindings.get(parts[count])
                if binding is None:
                    # What it takes over from another module as a whole is not read.
                    return not module.has_star_imports
                return binding.target.startswith(f"{module.name}.")
        return False

    def _generic(self, node: ast.Subscript, module: ModuleTypes) -> Type | None:
        name = module.resolve(node.value)
        if name is None:
            return None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name.endswith((".Literal",)):
            return named(name, *(Type(VERBATIM + ast.unparse(part)) for part in parts))
        if name in _TRANSPARENT:
            return self.annotated(parts[0], module)
        found = [self.annotated(part, module) for part in parts]
        known = [each for each in found if each is not None]
        return named(self.full_name(name), *known) if len(known) == len(found) else None

    def is_type_variable(self, type_: Type) -> bool:
        """Check for a TypeVar, which means something only where its function or class is."""
        if type_.name in ("typing.AnyStr", "typing.Self", "typing_extensions.Self"):
            return True
        found = self.definition(type_.name) if "." in type_.name else None
        value = getattr(found[2], "value", None) if found is not None else None
        if not isinstance(value, ast.Call):
            return False
        made_by = getattr(value.func, "id", None) or getattr(value.func, "attr", "")
        return made_by in ("TypeVar", "ParamSpec", "TypeVarTuple")
