"""Finds code whose meaning depends on the function it stands in, and so must not be moved out of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from actors.capabilities.violation_fix.refactoring.complexity import Function, Loop
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import Scope, own_nodes
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.placement import decorator_names

_DYNAMIC = frozenset({"locals", "eval", "exec"})
_DYNAMIC_WITHOUT_ARGUMENTS = frozenset({"vars", "dir"})
FRAME_NAMES = frozenset(
    {
        *("_getframe", "currentframe", "_getframemodulename", "extract_stack", "print_stack", "format_stack"),
        *("walk_stack", "getouterframes", "findCaller"),
    }
)
_COMPILED = ("jit", "vectorize", "cuda", "kernel", "compile", "tf_function", "script", "guvectorize", "overload_method")
_WEAK = frozenset({"ref", "proxy", "WeakMethod"})
_TEMPORARY = frozenset(
    {"TemporaryDirectory", "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile", "finalize"}
)

Jump = ast.Return | ast.Break | ast.Continue


@dataclass
class Crossings:
    """Lists the statements of a block that leave it, and whether it suspends its function."""

    returns: list[ast.Return] = field(default_factory=list)
    breaks: list[ast.Break] = field(default_factory=list)
    continues: list[ast.Continue] = field(default_factory=list)
    yields: bool = False
    awaits: bool = False

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted(jump.lineno for jump in (*self.returns, *self.breaks, *self.continues)))


def crossings_of(statements: Sequence[ast.stmt]) -> Crossings:
    found = Crossings()
    for statement in statements:
        _collect(statement, found, in_loop=False)
    return found


def _collect(node: ast.AST, found: Crossings, *, in_loop: bool) -> None:
    if isinstance(node, ast.Return):
        found.returns.append(node)
    elif isinstance(node, ast.Break) and not in_loop:
        found.breaks.append(node)
    elif isinstance(node, ast.Continue) and not in_loop:
        found.continues.append(node)
    elif isinstance(node, ast.Yield | ast.YieldFrom):
        found.yields = True
    elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or getattr(node, "is_async", False):
        found.awaits = True
    if isinstance(node, Scope | ast.Lambda):
        return
    for name, value in ast.iter_fields(node):
        # A `break` in the `else` clause of a loop belongs to the loop around it.
        inside = in_loop or (isinstance(node, Loop) and name == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _collect(child, found, in_loop=inside)


def refuse_dynamic_function(function: Function) -> None:
    """Refuse a function whose local names can be seen by code that does not spell them."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name in _DYNAMIC_WITHOUT_ARGUMENTS and not node.args:
                raise RefusedRefactoring(
                    "dynamic_names", f"{name}() sees local names of {function.name}", (node.lineno,)
                )
        # Called under another name, or handed on, it sees them as well.
        if _is_builtin(node, _DYNAMIC):
            raise RefusedRefactoring(
                "dynamic_names", f"{last_name(node)}() sees local names of {function.name}", (node.lineno,)
            )
        if isinstance(node, ast.Name) and node.id in ("__tracebackhide__", "__traceback_hide__"):
            raise RefusedRefactoring(
                "dynamic_names", f"{node.id} belongs to the frame of {function.name}", (node.lineno,)
            )
    for name in decorator_names(function):
        if any(part in name.lower() for part in _COMPILED):
            message = f"{function.name} is compiled by its decorator {name}, which may not see other functions"
            raise RefusedRefactoring("compiled_function", message, (function.lineno,))
    if getattr(function, "type_params", None):
        message = f"{function.name} has type parameters, which a new function would not see"
        raise RefusedRefactoring("type_parameters", message, (function.lineno,))


def _is_builtin(node: ast.AST, names: frozenset[str]) -> TypeGuard[ast.expr]:
    if isinstance(node, ast.Attribute):
        return node.attr in names and isinstance(node.value, ast.Name) and node.value.id in ("builtins", "__builtins__")
    return isinstance(node, ast.Name) and node.id in names


def refuse_frame_bound_code(statements: Sequence[ast.stmt]) -> None:
    """Refuse code that looks at its own frame, re-raises from outside, or declares names of other scopes."""
    handled = {
        id(part)
        for statement in statements
        for handler in ast.walk(statement)
        if isinstance(handler, ast.ExceptHandler)
        for part in ast.walk(handler)
    }
    for node in (part for statement in statements for part in _own(statement)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call):
            _refuse_call(node)
        elif isinstance(node, ast.Attribute | ast.Name) and last_name(node) in FRAME_NAMES:
            raise RefusedRefactoring(
                "frame_inspection", f"{last_name(node)} depends on the depth of the stack", (line,)
            )
        elif isinstance(node, ast.Global | ast.Nonlocal):
            raise RefusedRefactoring("declared_names", "the block declares names of an outer scope", (line,))
        elif isinstance(node, ast.Raise) and node.exc is None and id(node) not in handled:
            raise RefusedRefactoring("bare_raise", "a bare raise belongs to a handler outside the block", (line,))


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    yield statement
    if isinstance(statement, Scope):
        yield from (part for part in ast.walk(statement) if part is not statement)
    else:
        yield from (part for child in ast.iter_child_nodes(statement) for part in ast.walk(child))


def _refuse_call(node: ast.Call) -> None:
    for keyword in node.keywords:
        if keyword.arg in ("stacklevel", "skip_file_prefixes"):
            raise RefusedRefactoring("frame_inspection", "stacklevel counts the frames above the call", (node.lineno,))
    name = last_name(node.func)
    if name == "warn" and len(node.args) > 2:
        raise RefusedRefactoring("frame_inspection", "a stack level counts the frames above the call", (node.lineno,))
    if name == "stack" and isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "inspect":
        raise RefusedRefactoring("frame_inspection", "inspect.stack() shows the frame", (node.lineno,))


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def needs_class(statements: Sequence[ast.stmt]) -> bool:
    """Return whether code means the class around it: zero-argument super(), __class__, or a mangled name."""
    for node in (part for statement in statements for part in ast.walk(statement)):
        if isinstance(node, ast.Call) and last_name(node.func) == "super" and not node.args:
            return True
        if isinstance(node, ast.Name) and node.id == "__class__":
            return True
        spelled = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None) or ""
        if isinstance(spelled, str) and spelled.startswith("__") and not spelled.endswith("__"):
            return True
    return False


def kept_alive(statements: Sequence[ast.stmt], names: frozenset[str], read: frozenset[str]) -> str | None:
    """Return a name whose only purpose may be to keep an object alive until the function ends."""
    for node in (part for statement in statements for part in own_nodes(statement)):
        if isinstance(node, ast.Call) and last_name(node.func) in _WEAK and node.args:
            referent = last_name(node.args[0])
            if referent in names:
                return referent
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if not isinstance(target, ast.Name) or target.id not in names or target.id == "_":
                continue
            if target.id not in read or last_name(node.value.func) in _TEMPORARY:
                return target.id
    return None


def is_bare(node: ast.Return) -> bool:
    return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)


def spelling_of(jump: Jump) -> str:
    if isinstance(jump, ast.Return):
        if is_bare(jump):
            return "return"
        if jump.value is not None and (text := _constant_text(jump.value)) is not None:
            return f"return {text}"
        return f"return at {jump.lineno}:{jump.col_offset}"
    return type(jump).__name__


def is_constant(jump: Jump) -> bool:
    """Check that a jump means the same outside the block: a returned value is not worked out there."""
    return not isinstance(jump, ast.Return) or jump.value is None or _constant_text(jump.value) is not None


def _constant_text(value: ast.expr) -> str | None:
    """Return the text of a constant, a negative number or a tuple of such; None for anything else."""
    if isinstance(value, ast.Constant):
        return repr(value.value)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Constant):
        number = value.operand.value
        return f"-{number!r}" if isinstance(number, int | float) and not isinstance(number, bool) else None
    if not isinstance(value, ast.Tuple):
        return None
    parts = [_constant_text(part) for part in value.elts]
    return None if None in parts else f"({', '.join(str(part) for part in parts)},)"


def has_examples(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements begin with a text that doctest runs if they are all of a function outside others."""
    text = body[0].value if isinstance(body[0], ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str) and ">>>" in text.value
