"""Reads from Python source what a fix must not change, and where a function begins.

Lines count from 1. All functions work on bytes, since a file's line ends and encoding are its own; they raise
SyntaxError or ValueError for source that Python cannot parse.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

PLANTED = "jeeves planted this to see which tests turn red"
_RAISES = f'raise RuntimeError("{PLANTED}")'.encode()
_EXCUSES = ("noqa", "type: ignore", "pragma:", "pylint:", "ruff:", "pyright:", "flake8:")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = ast.Module | ast.ClassDef | _Function


class FunctionPlace(msgspec.Struct, frozen=True):
    """Locates a function. `first_line` includes decorators, as the code object counts; `line` is that of its `def`."""

    name: str
    first_line: int
    line: int
    end_line: int


def functions_of(source: bytes) -> list[FunctionPlace]:
    """Return all functions of a file with their qualified names, in order; one inside another is `outer.inner`."""
    with _bounded_depth():
        return [_place(name, node) for name, node in _functions(ast.parse(source), "")]


def function_at(source: bytes, line: int) -> FunctionPlace | None:
    """Return the innermost function around a line."""
    around = [each for each in functions_of(source) if each.first_line <= line <= each.end_line]
    return max(around, key=lambda each: each.first_line, default=None)


def with_planted_exception(source: bytes, first_line: int) -> bytes | None:
    """Return a file whose function that begins at a line raises as soon as it is called; None without that function."""
    with _bounded_depth():
        named = _functions(ast.parse(source), "")
        node = next((node for name, node in named if _place(name, node).first_line == first_line), None)
    if node is None:
        return None
    first = node.body[0]
    start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    lines = source.splitlines(keepends=True)
    line = lines[start - 1]
    column = first.col_offset if start == first.lineno else len(line) - len(line.lstrip())
    end = b"\r\n" if line.endswith(b"\r\n") else b"\n"
    if line[:column].strip():
        # The body stands on the line of the `def`, where only simple statements can.
        lines[start - 1] = line[:column] + _RAISES + b"; " + line[column:]
    else:
        lines[start - 1] = line[:column] + _RAISES + end + line
    return b"".join(lines)


def public_signatures(source: bytes, *, exports_imports: bool = False) -> dict[str, str]:
    """Return what a file offers to others, by qualified name: functions and classes with their signatures, and names.

    Public is what has no leading underscore in any part of its name; dunder methods are. A name that a module or class
    assigns counts as `name`, and one that it imports as well where `exports_imports`, as in `__init__.py`.
    """
    with _bounded_depth():
        offered = dict(_offered(ast.parse(source), "", exports_imports))
    return {name: told for name, told in offered.items() if told}


def excuses(source: bytes) -> Counter[str]:
    """Return the comments that keep tools from complaining, counted by their text."""
    found: Counter[str] = Counter()
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT and any(word in token.string.lower() for word in _EXCUSES):
            found[token.string] += 1
    return found


@contextmanager
def _bounded_depth() -> Iterator[None]:
    """Raise SyntaxError for what is nested too deep for the parser, or for a walk of its tree."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("the file is nested too deep to be read") from error


def _functions(scope: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, _Function):
            yield prefix + node.name, node
        named = isinstance(node, _Function | ast.ClassDef)
        inner = f"{prefix}{node.name}." if isinstance(node, _Function | ast.ClassDef) else prefix
        yield from _functions(node, inner if named else prefix)


def _place(name: str, node: _Function) -> FunctionPlace:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return FunctionPlace(name, first, node.lineno, node.end_lineno or node.lineno)


def _offered(scope: ast.AST, prefix: str, with_imports: bool) -> Iterator[tuple[str, str]]:
    """Yield what a module or class offers, also from within its `if` and `try` statements."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, _Function):
            if _is_public(node.name):
                yield prefix + node.name, _signature(node)
        elif isinstance(node, ast.ClassDef):
            if _is_public(node.name):
                yield prefix + node.name, _class_head(node)
                yield from _offered(node, f"{prefix}{node.name}.", False)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from ((prefix + name, "name") for name in _bound(node, with_imports) if _is_public(name))
            yield from _offered(node, prefix, with_imports)


def _bound(node: ast.AST, with_imports: bool) -> list[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    if with_imports and isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return []


def _signature(node: _Function) -> str:
    decorators = " ".join(f"@{ast.unparse(each)}" for each in node.decorator_list)
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{decorators} {kind} ({ast.unparse(node.args)}){returns}".strip()


def _class_head(node: ast.ClassDef) -> str:
    told = [ast.unparse(each) for each in (*node.decorator_list, *node.bases, *node.keywords)]
    return f"class ({', '.join(told)})"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
