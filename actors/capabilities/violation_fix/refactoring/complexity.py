"""Counts complexity, branches, statements, returns and arguments as ruff's C901 and PLR09 do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
Try = ast.Try | ast.TryStar

_DUMMY = re.compile(r"^(_+|(_+[a-zA-Z0-9_]*[a-zA-Z0-9]+?))$")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds a function; each value is the largest that passes. None means that the rule is not enabled."""

    complexity: int | None = 10
    branches: int | None = 12
    statements: int | None = 50
    returns: int | None = 6
    arguments: int | None = 5
    nesting: int | None = None


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures one function by the same rules as `Limits`."""

    complexity: int
    branches: int
    statements: int
    returns: int
    arguments: int
    nesting: int

    def over(self, limits: Limits) -> dict[str, int]:
        """Return by how much each limit that is not kept is exceeded."""
        exceeded: dict[str, int] = {}
        for name in ("complexity", "branches", "statements", "returns", "arguments", "nesting"):
            limit = getattr(limits, name)
            if limit is not None and getattr(self, name) > limit:
                exceeded[name] = getattr(self, name) - limit
        return exceeded


def measure(function: Function, *, in_class: bool = False) -> Measures:
    return Measures(
        complexity=1 + complexity_of(function.body),
        branches=branches_of(function.body),
        statements=statements_of(function.body),
        returns=sum(1 for _ in _returns(function.body)),
        arguments=arguments_of(function, in_class=in_class),
        nesting=nesting_of(function.body),
    )


def complexity_of(body: Sequence[ast.stmt]) -> int:
    """Return what statements add to the cyclomatic complexity of the function that holds them."""
    return sum(_complexity(statement) for statement in body)


def _complexity(statement: ast.stmt) -> int:
    if isinstance(statement, ast.If):
        return 1 + complexity_of(statement.body) + complexity_of(statement.orelse)
    if isinstance(statement, Loop):
        return 1 + complexity_of(statement.body) + complexity_of(statement.orelse)
    if isinstance(statement, Try):
        inner = sum(complexity_of(body) for body in (statement.body, statement.orelse, statement.finalbody))
        return inner + bool(statement.orelse) + sum(1 + complexity_of(handler.body) for handler in statement.handlers)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return complexity_of(statement.body)
    if isinstance(statement, ast.Match):
        total = sum(1 + complexity_of(case.body) for case in statement.cases)
        return total - is_irrefutable(statement.cases[-1])
    if isinstance(statement, Function):
        return 1 + complexity_of(statement.body)
    if isinstance(statement, ast.ClassDef):
        return complexity_of(statement.body)
    return 0


def is_irrefutable(case: ast.match_case) -> bool:
    return case.guard is None and _matches_all(case.pattern)


def _matches_all(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _matches_all(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(_matches_all(choice) for choice in pattern.patterns)


def elif_of(statement: ast.If) -> ast.If | None:
    """Return the `elif` of an `if`; an `if` inside an `else` has the same tree but stands further right."""
    alternative = statement.orelse
    if len(alternative) == 1 and isinstance(alternative[0], ast.If):
        return alternative[0] if alternative[0].col_offset == statement.col_offset else None
    return None


def branches_of(body: Sequence[ast.stmt]) -> int:
    return sum(_branches(statement) for statement in body)


def _branches(statement: ast.stmt) -> int:
    if isinstance(statement, ast.If):
        alternative = statement.orelse
        is_elif = elif_of(statement) is not None
        # An `else` counts one; an `elif` counts by itself.
        return 1 + branches_of(statement.body) + branches_of(alternative) + (bool(alternative) and not is_elif)
    if isinstance(statement, Loop):
        return 1 + branches_of(statement.body) + (bool(statement.orelse) + branches_of(statement.orelse))
    if isinstance(statement, Try):
        parts = (statement.orelse, statement.finalbody, *(handler.body for handler in statement.handlers))
        inner = branches_of(statement.body) + sum(branches_of(part) for part in parts)
        return inner + bool(statement.orelse) + bool(statement.finalbody) + len(statement.handlers)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return branches_of(statement.body)
    if isinstance(statement, ast.Match):
        return sum(1 + branches_of(case.body) for case in statement.cases)
    return 0


def statements_of(body: Sequence[ast.stmt]) -> int:
    return sum(_statements(statement) for statement in body)


def _statements(statement: ast.stmt) -> int:
    if isinstance(statement, ast.If):
        alternative = statement.orelse
        is_elif = elif_of(statement) is not None
        return 1 + statements_of(statement.body) + statements_of(alternative) + (bool(alternative) and not is_elif)
    if isinstance(statement, Loop):
        # Ruff counts no statement for the head of a `for`, as Pylint does not.
        is_while = isinstance(statement, ast.While)
        return is_while + statements_of(statement.body) + statements_of(statement.orelse)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return 1 + statements_of(statement.body)
    if isinstance(statement, Try):
        inner = sum(statements_of(body) for body in (statement.body, statement.orelse, statement.finalbody))
        handlers = sum(1 + statements_of(handler.body) for handler in statement.handlers)
        several = len(statement.handlers) > 1
        return 1 + inner + bool(statement.orelse) + 2 * bool(statement.finalbody) + several + handlers
    if isinstance(statement, ast.Match):
        return 1 + sum(1 + statements_of(case.body) for case in statement.cases)
    if isinstance(statement, Function):
        return 1 + statements_of(statement.body)
    return 0 if isinstance(statement, ast.Return) else 1


def _returns(body: Iterable[ast.stmt]) -> Iterator[ast.Return]:
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, Function | ast.ClassDef):
            for part in bodies_of(statement):
                yield from _returns(part)


def arguments_of(function: Function, *, in_class: bool) -> int:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    counted = sum(1 for name in names if not _DUMMY.match(name))
    decorators = {_last_name(decorator) for decorator in function.decorator_list}
    if decorators & {"overload", "override"}:
        return 0
    is_bound = in_class and "staticmethod" not in decorators and bool(arguments.posonlyargs or arguments.args)
    return counted - is_bound


def _last_name(decorator: ast.expr) -> str:
    if isinstance(decorator, ast.Attribute):
        return decorator.attr
    return decorator.id if isinstance(decorator, ast.Name) else ""


def nesting_of(body: Sequence[ast.stmt]) -> int:
    """Return how many blocks lie in one another at most; an `elif` is no level of its own."""
    return max((_nesting(statement) for statement in body), default=0)


def _nesting(statement: ast.stmt) -> int:
    if isinstance(statement, Function | ast.ClassDef):
        return 0
    if isinstance(statement, ast.If) and (alternative := elif_of(statement)):
        return max(1 + nesting_of(statement.body), _nesting(alternative))
    parts = [nesting_of(part) for part in bodies_of(statement)]
    return 1 + max(parts) if parts else 0


def bodies_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """Return the statement lists directly inside a compound statement, in source order."""
    if isinstance(node, Try):
        return [node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody]
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    lists = (getattr(node, name, None) for name in ("body", "orelse"))
    return [part for part in lists if isinstance(part, list)]


def functions_of(tree: ast.AST, *, in_class: bool = False, prefix: str = "") -> Iterator[tuple[str, Function, bool]]:
    """Yield each function with its dotted name and whether it lies directly in a class."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, Function):
            yield f"{prefix}{child.name}", child, in_class
            yield from functions_of(child, prefix=f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from functions_of(child, in_class=True, prefix=f"{prefix}{child.name}.")
        else:
            yield from functions_of(child, in_class=in_class, prefix=prefix)
