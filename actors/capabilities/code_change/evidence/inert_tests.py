"""Finds Python tests that keep their names and check less than they did, by their syntax.

An assertion is in force if pytest collects the function around it, control reaches it, and its failure reaches pytest.
It is not in a function inside a test that nothing calls, after a `return`, below `if False`, or in a `try` that keeps
its failure; nor is one that speaks of a name which the test has put something else under.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from actors.capabilities.code_change.evidence.collected_tests import (
    Function,
    collected,
    dotted,
    is_false,
    is_switched_off,
    runs_never,
    skip_under_another_name,
)

_SWALLOWED = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
REPLACED = "in an earlier one of its name, which the last one replaces"
UNCOLLECTED = "nothing collects it any more"


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
            # One that is gone from the text is told by the lines that differ.
            if (short in names or re.search(rf"\bdef {short}\b", after)) and not moved:
                found.append(f"{short}: {UNCOLLECTED}")
        elif now.assertions < was.assertions:
            added = {reason: n for reason, n in now.reasons.items() if n > was.reasons.get(reason, 0)}
            found += [f"{short}: {_said(n)} {reason}" for reason, n in added.items()]
    return found


def _said(number: int) -> str:
    return f"{number} assertion{'' if number == 1 else 's'}"


def _tests_of(tree: ast.Module) -> dict[str, Force]:
    """Return the tests that pytest collects, as `Class.name`; the last one of a name counts, as it does there."""
    imported = {alias.asname or alias.name.partition(".")[0]: origin for alias, origin in _imports(tree.body)}
    if is_switched_off(tree.body):
        return {}
    replaced = {name for name in _bound_by(tree.body) if name in imported}
    found: dict[str, Force] = {}
    for name, function in collected(tree.body):
        force = _force(function, imported, replaced)
        if (earlier := found.get(name)) is not None:
            lost = earlier.assertions + earlier.reasons.get(REPLACED, 0)
            force = Force(force.assertions, {**force.reasons, **({REPLACED: lost} if lost else {})})
        found[name] = force
    return found


def _force(function: Function, imported: Mapping[str, str], replaced: set[str]) -> Force:
    reasons: Counter[str] = Counter()
    hidden = {name for name in _bound(function) if name in imported} | replaced
    if why := _why_not_run(function, imported):
        return Force(0, {why: _count(function.body)})
    in_force = 0
    for assertion in _reached(function.body, _loaded(function), reasons):
        names = {node.id for node in ast.walk(assertion) if isinstance(node, ast.Name)}
        if shown := sorted(names & hidden):
            reasons[f"about something else that it calls `{shown[0]}`"] += 1
        else:
            in_force += 1
    return Force(in_force, dict(reasons))


def _why_not_run(function: Function, imported: Mapping[str, str]) -> str:
    """Return why nothing in a test is ever checked; empty where it may be."""
    if spelled := skip_under_another_name(function, imported):
        return f"in a test that `{spelled}` skips"
    if runs_never(function):
        return "in a test that is given no parameters"
    return "in a generator, which is not run" if any(isinstance(node, ast.Yield) for node in _own(function)) else ""


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions and classes within it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


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
        if is_false(node.test):
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
        yield from _within(node, used, reasons)
    elif isinstance(node, ast.For | ast.AsyncFor):
        if isinstance(node.iter, ast.List | ast.Tuple | ast.Set) and not node.iter.elts:
            reasons["in a loop over nothing"] += _count(node.body)
        else:
            yield from _reached(node.body, used, reasons)
        yield from _reached(node.orelse, used, reasons)
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from _reached(case.body, used, reasons)


def _within(node: ast.With | ast.AsyncWith, used: set[str], reasons: Counter[str]) -> Iterator[ast.AST]:
    if any(_suppresses(item.context_expr) for item in node.items):
        reasons["in a `suppress` that keeps their failure"] += _count(node.body)
    elif any(_suppresses(item.context_expr, "raises") for item in node.items):
        reasons["in a `raises` that expects their failure"] += _count(node.body)
    else:
        yield from (item.context_expr for item in node.items if _is_assertion(item.context_expr))
        yield from _reached(node.body, used, reasons)


def _asserts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    value = node.value if isinstance(node, ast.Expr) else None
    return _is_assertion(value.value if isinstance(value, ast.Await) else value)


def _is_assertion(node: ast.expr | None) -> bool:
    """`assert…(…)`, `fail(…)`, and the context managers that expect an error or a warning."""
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func).rpartition(".")[2]
    return name.lower().startswith("assert") or name in {"fail", "raises", "warns", "deprecated_call"}


def _count(body: Iterable[ast.stmt]) -> int:
    nodes = [node for each in body for node in ast.walk(each)]
    expected = [node.context_expr for node in nodes if isinstance(node, ast.withitem)]
    return sum(_asserts(node) for node in nodes if isinstance(node, ast.stmt)) + sum(map(_is_assertion, expected))


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(each is None or dotted(each).rpartition(".")[2] in _SWALLOWED for each in caught):
        return False
    return not any(
        isinstance(node, ast.Raise) or (isinstance(node, ast.stmt) and _asserts(node))
        for each in handler.body
        for node in ast.walk(each)
    )


def _suppresses(node: ast.expr, called: str = "suppress") -> bool:
    if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] != called:
        return False
    return any(dotted(each).rpartition(".")[2] in _SWALLOWED for each in node.args)


def _imports(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.alias, str]]:
    """Yield what a module imports, each with what it stands for."""
    for each in body:
        if isinstance(each, ast.Import):
            yield from ((alias, alias.name if alias.asname else alias.name.partition(".")[0]) for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            yield from ((alias, f"{each.module or ''}.{alias.name}") for alias in each.names)


def _bound_by(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that functions, classes and assignments of a module bind."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


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
