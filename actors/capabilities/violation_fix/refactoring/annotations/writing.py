"""Writes types as annotations with the names that a module has, or finds that it has none for them."""

from __future__ import annotations

import ast
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.annotations.modules import Binding, ModuleTypes, Package
from actors.capabilities.violation_fix.refactoring.annotations.types import (
    ARITIES,
    NONE,
    PARAMETER_LIST,
    UNION,
    VERBATIM,
    Type,
    spellings,
)
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import BUILTIN_NAMES

_GENERIC_BUILTINS = frozenset({"list", "dict", "set", "frozenset", "tuple", "type"})
# Generic classes of any number of arguments, with what is written beside Any.
_OPEN = {"tuple": ("...",), "typing.Callable": ("...",)}
_PEP_585, _PEP_604 = (3, 9), (3, 10)


class AnnotationWriter:
    """Writes annotations of a function that begins on `line` of a module; `hidden` are names that mean others there.

    Nothing is imported for an annotation: it is made of names that the module has.
    """

    def __init__(self, package: Package, line: int, hidden: frozenset[str] = frozenset()) -> None:
        self._package = package
        self._module: ModuleTypes = package.module
        self._line = line
        self._hidden = hidden

    def write(self, type_: Type) -> str | None:
        """Return an annotation, quoted where it could not be evaluated yet; None where a name is missing."""
        roots: set[str] = set()
        text = self._spell(type_, roots)
        if text is None or self._module.is_lazy:
            return text
        return f'"{text}"' if any(self._is_late(root) for root in roots) else text

    def _is_late(self, root: str) -> bool:
        binding = self._module.bindings.get(root)
        return binding is not None and (binding.is_for_types or binding.line >= self._line)

    def verbatim(self, annotation: ast.expr, text: str) -> str | None:
        """Return an annotation of the same module as it stands; None where its names mean something else."""
        if annotation.end_lineno != annotation.lineno:
            return None
        parsed = _unquoted(annotation)
        if parsed is None:
            return None
        names = {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}
        bindings = self._module.bindings
        if names & self._hidden or any(name not in bindings and name not in BUILTIN_NAMES for name in names):
            return None
        is_quoted = any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(annotation))
        if not self._module.is_lazy and not is_quoted and any(self._is_late(name) for name in names):
            return f'"{text}"' if '"' not in text and "'" not in text else None
        return text

    def _spell(self, type_: Type, roots: set[str]) -> str | None:
        if type_ == NONE:
            return "None"
        if type_.name.startswith(VERBATIM):
            return type_.name[1:]
        if type_.name == UNION:
            return self._spell_union(type_, roots)
        inner = [self._spell(argument, roots) for argument in type_.arguments]
        known = [each for each in inner if each is not None]
        if len(known) < len(inner):
            return None
        if not known and (type_.name in ARITIES or type_.name in _OPEN):
            # Without arguments it says less than is asked for, and than Any in their place.
            anything = self._spell_name("typing.Any", roots, has_arguments=False)
            if anything is None:
                return None
            known = [*_OPEN[type_.name], anything] if type_.name in _OPEN else [anything] * ARITIES[type_.name]
            known = [*reversed(known)] if type_.name == "tuple" else known
        arguments = ", ".join(known)
        if type_.name == PARAMETER_LIST:
            return f"[{arguments}]"
        if type_.name == "...":
            return "..."
        name = self._spell_name(type_.name, roots, has_arguments=bool(arguments))
        if name is None:
            return None
        return f"{name}[{arguments}]" if arguments else name

    def _spell_name(self, name: str, roots: set[str], *, has_arguments: bool) -> str | None:
        if name in _GENERIC_BUILTINS and not has_arguments:
            return None
        for spelling in spellings(name):
            found = self._visible_as(spelling)
            if found is None or (name in BUILTIN_NAMES and "." in found and self._allows(_PEP_585, default=True)):
                continue
            roots.add(found.partition(".")[0])
            return found
        if name in BUILTIN_NAMES and name not in self._module.bindings and name not in self._hidden:
            is_generic_at_runtime = not has_arguments or self._allows(_PEP_585, default=True)
            return name if is_generic_at_runtime else None
        return None

    def _visible_as(self, full_name: str) -> str | None:
        """Return how the module can spell a name: by itself, or by a module that it imports."""
        named = (name for name, binding in self._module.bindings.items() if binding.target == full_name)
        for name in named:
            if name not in self._hidden and (self._module.is_lazy or not self._is_late(name)):
                return name
        for name, binding in self._module.bindings.items():
            if name in self._hidden:
                continue
            if binding.target == full_name or self._definition_of(binding) == full_name:
                return name
            if full_name.startswith(f"{binding.target}."):
                rest = full_name.removeprefix(f"{binding.target}.")
                if "." not in rest or binding.target.startswith(f"{self._module.name}."):
                    return f"{name}.{rest}"
        return None

    def _definition_of(self, binding: Binding) -> str:
        if binding.target not in self._definitions:
            self._definitions[binding.target] = self._package.full_name(binding.target)
        return self._definitions[binding.target]

    @cached_property
    def _definitions(self) -> dict[str, str]:
        return {}

    def _spell_union(self, type_: Type, roots: set[str]) -> str | None:
        others_than_none = [member for member in type_.arguments if member != NONE]
        if len(others_than_none) > 1 and any(member.name == "typing.Any" for member in others_than_none):
            # Beside anything, the others say nothing.
            return None
        inner = [self._spell(member, roots) for member in type_.arguments]
        known = [each for each in inner if each is not None]
        if len(known) < len(inner):
            return None
        others = [text for text in known if text != "None"]
        optional, either = self._visible_as("typing.Optional"), self._visible_as("typing.Union")
        if self._uses_bars or (optional is None and either is None):
            return " | ".join(known) if self._allows(_PEP_604, default=self._uses_bars) else None
        if len(others) < len(known) and optional is not None:
            if len(others) > 1 and either is None:
                return None
            joined = others[0] if len(others) == 1 else f"{either}[{', '.join(others)}]"
            roots.add(optional.partition(".")[0])
            return f"{optional}[{joined}]"
        if either is not None:
            roots.add(either.partition(".")[0])
            return f"{either}[{', '.join(known)}]"
        return " | ".join(known) if self._allows(_PEP_604, default=False) else None

    def _allows(self, version: tuple[int, int], *, default: bool) -> bool:
        """Return whether annotations may use what came with a version of Python."""
        if self._module.is_lazy:
            return True
        least = self._package.rules.min_python
        return default if least is None else least >= version

    @cached_property
    def _uses_bars(self) -> bool:
        annotations = [
            getattr(node, "annotation", None) or getattr(node, "returns", None) for node in ast.walk(self._module.tree)
        ]
        parts = (part for annotation in annotations if annotation is not None for part in ast.walk(annotation))
        return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr) for part in parts)


def _unquoted(annotation: ast.expr) -> ast.AST | None:
    """Return an annotation with the strings in it parsed; None for one that does not parse."""
    texts = [
        node.value for node in ast.walk(annotation) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if not texts or "Literal" in ast.dump(annotation):
        return annotation
    try:
        parsed: list[ast.stmt] = [ast.Expr(ast.parse(text, mode="eval").body) for text in texts]
    except (SyntaxError, ValueError):
        return None
    return ast.Module(body=[*parsed, ast.Expr(annotation)], type_ignores=[])
