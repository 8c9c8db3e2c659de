"""Finds Python tests that keep their names and check less than they did, by their syntax.

An assertion is in force if pytest collects the function around it, control reaches it, and its failure reaches pytest.
It is not in a function inside a test that nothing calls, after a `return`, below `if False`, or in a `try` that keeps
its failure; nor is one that speaks of a name which the test has put something else under.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

_SWALLOWED = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TEST, _TEST_CLASS, _CASE = "test", "Test", "TestCase"
UNCOLLECTED = "nothing collects it any more"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Force(msgspec.Struct, frozen=True):
    """Counts the assertions of a test that are in force; `reasons`: why others are not → how many."""

    assertions: int
    reasons: Mapping[str, int] = {}


def inert_tests(before: str, after: str) -> list[str]:
    """Return the tests of a file that lost assertions without losing their text, each with the reason.

    A file that cannot be parsed has none: its tests fail anyway.
    """
    try:
        old, tree = _tests_of(ast.parse(before)), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    new, names = _tests_of(tree), _function_names(tree)
    found = []
    for name, was in old.items():
        short = name.rpartition(".")[2]
        now = new.get(name)
        if now is None:
            moved = any(each.rpartition(".")[2] == short for each in new.keys() - old.keys())
            if short in names and not moved:
                found.append(f"{short}: {UNCOLLECTED}")
        elif now.assertions < was.assertions:
            added = {reason: n for reason, n in now.reasons.items() if n > was.reasons.get(reason, 0)}
            found += [f"{short}: {_said(n)} {reason}" for reason, n in added.items()]
    return found


def _said(number: int) -> str:
    return f"{number} assertion{'' if number == 1 else 's'}"


def _tests_of(tree: ast.Module) -> dict[str, Force]:
    """Return the tests that pytest collects, as `Class.name`; the last one of a name counts, as it does there."""
    imported = {alias.asname or alias.name.partition(".")[0] for alias in _imports(tree.body)}
    if _is_switched_off(tree.body):
        return {}
    return {name: _force(function, imported) for name, function in _collected(tree.body, "")}


def _collected(body: Iterable[ast.stmt], group: str) -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith(_TEST):
            yield f"{group}{node.name}", node
        elif isinstance(node, ast.ClassDef) and not _is_switched_off(node.body):
            bases = [_dotted(base).rpartition(".")[2] for base in node.bases]
            if node.name.startswith(_TEST_CLASS) or any(base.endswith(_CASE) for base in bases):
                yield from _collected(node.body, f"{group}{node.name}.")
        elif isinstance(node, ast.If):
            yield from _collected([*([] if _is_false(node.test) else node.body), *node.orelse], group)
        elif isinstance(node, ast.Try):
            yield from _collected([*node.body, *node.orelse, *node.finalbody], group)


def _force(function: Function, imported: set[str]) -> Force:
    reasons: Counter[str] = Counter()
    hidden = {name for name in _bound(function) if name in imported}
    in_force = 0
    for assertion in _reached(function.body, _loaded(function), reasons):
        names = {node.id for node in ast.walk(assertion) if isinstance(node, ast.Name)}
        if shown := sorted(names & hidden):
            reasons[f"about something else that it calls `{shown[0]}`"] += 1
        else:
            in_force += 1
    return Force(in_force, dict(reasons))


def _reached(body: Iterable[ast.stmt], used: set[str], reasons: Counter[str]) -> Iterator[ast.AST]:
    """Yield the assertions that are in force; count the others by the reason."""
    left: ast.stmt | None = None
    for node in body:
        if left is not None:
            reasons[f"after a `{type(left).__name__.lower()}` that is always reached"] += _count([node])
        elif isinstance(node, _LEAVES):
            left = node
        elif _asserts(node):
            yield node
        elif isinstance(node, Function):
            if node.name in used:
                yield from _reached(node.body, used, reasons)
            else:
                reasons[f"in `{node.name}`, which it does not call"] += _count(node.body)
        else:
            yield from _inside(node, used, reasons)


def _inside(node: ast.stmt, used: set[str], reasons: Counter[str]) -> Iterator[ast.AST]:
    """Yield the assertions in force below a compound statement."""
    if isinstance(node, ast.If | ast.While):
        if _is_false(node.test):
            reasons["below a condition that is never true"] += _count(node.body)
        else:
            yield from _reached(node.body, used, reasons)
        yield from _reached(node.orelse, used, reasons)
    elif isinstance(node, ast.Try | ast.TryStar):
        if any(_swallows(handler) for handler in node.handlers):
            reasons["in a `try` that keeps their failure"] += _count(node.body)
        else:
            yield from _reached(node.body, used, reasons)
        for part in (*(handler.body for handler in node.handlers), node.orelse, node.finalbody):
            yield from _reached(part, used, reasons)
    elif isinstance(node, ast.With | ast.AsyncWith):
        if any(_suppresses(item.context_expr) for item in node.items):
            reasons["in a `suppress` that keeps their failure"] += _count(node.body)
        else:
            yield from (item.context_expr for item in node.items if _is_assertion(item.context_expr))
            yield from _reached(node.body, used, reasons)
    elif isinstance(node, ast.For | ast.AsyncFor):
        if isinstance(node.iter, ast.List | ast.Tuple | ast.Set) and not node.iter.elts:
            reasons["in a loop over nothing"] += _count(node.body)
        else:
            yield from _reached(node.body, used, reasons)
        yield from _reached(node.orelse, used, reasons)
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from _reached(case.body, used, reasons)


def _asserts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    value = node.value if isinstance(node, ast.Expr) else None
    return _is_assertion(value.value if isinstance(value, ast.Await) else value)


def _is_assertion(node: ast.expr | None) -> bool:
    """`assert…(…)`, `fail(…)`, and the context managers that expect an error or a warning."""
    if not isinstance(node, ast.Call):
        return False
    name = _dotted(node.func).rpartition(".")[2]
    return name.lower().startswith("assert") or name in {"fail", "raises", "warns", "deprecated_call"}


def _count(body: Iterable[ast.stmt]) -> int:
    nodes = [node for each in body for node in ast.walk(each)]
    expected = [node.context_expr for node in nodes if isinstance(node, ast.withitem)]
    return sum(_asserts(node) for node in nodes if isinstance(node, ast.stmt)) + sum(map(_is_assertion, expected))


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(each is None or _dotted(each).rpartition(".")[2] in _SWALLOWED for each in caught):
        return False
    return not any(
        isinstance(node, ast.Raise) or (isinstance(node, ast.stmt) and _asserts(node))
        for each in handler.body
        for node in ast.walk(each)
    )


def _suppresses(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or _dotted(node.func).rpartition(".")[2] != "suppress":
        return False
    return any(_dotted(each).rpartition(".")[2] in _SWALLOWED for each in node.args)


def _is_false(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return any(map(_is_false, node.values))
    return isinstance(node, ast.Constant) and not node.value


def _is_switched_off(body: Iterable[ast.stmt]) -> bool:
    switches = [node for node in body if isinstance(node, ast.Assign) and _is_false(node.value)]
    return any(_dotted(target) == "__test__" for node in switches for target in node.targets)


def _imports(body: Iterable[ast.stmt]) -> Iterator[ast.alias]:
    for each in body:
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield from each.names


def _bound(function: Function) -> Iterator[str]:
    """Yield the names that a function binds itself, its parameters aside: those are pytest's to fill."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, Function | ast.ClassDef) and node is not function:
            yield node.name


def _loaded(function: Function) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _function_names(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, Function)}


def _dotted(node: ast.expr | None) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
