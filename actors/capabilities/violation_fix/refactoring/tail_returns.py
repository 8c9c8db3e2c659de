"""Returns a result where it is known, not through a variable at the end of a new function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring import conditionals
from actors.capabilities.violation_fix.refactoring.complexity import Function, Try
from actors.capabilities.violation_fix.refactoring.conditionals import Conditional
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    names_read,
    own_nodes,
    places_of,
)
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)

# As many as ruff's PLR0911 lets a function have.
_MOST_RETURNS = 6
_ENDS = (ast.Return, ast.Raise)
_Assigned = ast.Assign | ast.AnnAssign


def with_early_returns(source: str, name: str) -> str:
    """Return the source with the function of that name returning its result early, where nothing else changes."""
    text = SourceText(source)
    place = _only(text, name)
    edits = _early_returns(text, place.function) if place is not None else []
    if not edits:
        return source
    source = apply_edits(source, edits)
    while (without := _without_else(source, name)) is not None:
        source = without
    return source


def _only(source: SourceText, name: str) -> FunctionPlace | None:
    found = [place for place in places_of(source.tree) if place.function.name == name]
    return found[0] if len(found) == 1 else None


def _early_returns(source: SourceText, function: Function) -> list[Edit]:
    last = function.body[-1]
    if len(function.body) < 2 or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
        return []
    name = last.value.id
    parts = list(ast.walk(function))
    if any(isinstance(part, (*_SUSPENDING, ast.Lambda, ast.Nonlocal, ast.Global)) for part in parts):
        return []
    if any(isinstance(part, Scope) and part is not function for part in parts):
        return []
    # A type that is declared without a value would be of a name that nothing uses.
    if any(isinstance(part, ast.AnnAssign) and part.value is None and _target(part) == name for part in parts):
        return []
    compound = function.body[-2]
    default = function.body[-3] if len(function.body) > 2 else None
    tails = list(_tails([compound], name, is_loop=isinstance(compound, ast.For)))
    assigned = [tail for tail in tails if isinstance(tail, _Assigned)]
    if not assigned or len(assigned) > _MOST_RETURNS - 1 or not all(_is_plain(source, each) for each in assigned):
        return []
    is_read = name in names_read(compound)
    value = _constant_of(default, name)
    if isinstance(compound, ast.If | ast.Try) and None not in tails:
        # Every way returns, or raises: what was assigned before is never looked at.
        is_dead = default is not None and value is not None and not _gap_holds_comment(source, default, compound)
        dead = [_without(source, default)] if is_dead and default is not None else []
        return [*dead, *_returned(source, assigned), _without(source, last)] if not is_read else []
    if default is None or value is None or is_read or _gap_holds_comment(source, default, compound):
        return []
    if _count_of(name, compound) != len(assigned) or not isinstance(compound, ast.If | ast.For):
        return []
    ending = Edit(source.start_of(last.value), source.end_of(last.value), source.segment(value))
    return [*_returned(source, assigned), *_without_breaks(source, compound), _without(source, default), ending]


_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.GeneratorExp)


def _tails(body: Sequence[ast.stmt], name: str, *, is_loop: bool) -> Iterator[ast.stmt | None]:
    """Yield the last statement on each way through a block; None where a way ends without one that counts."""
    last = body[-1]
    if isinstance(last, ast.For) and is_loop:
        if last.orelse or any(isinstance(part, Try | ast.With | ast.AsyncWith) for part in ast.walk(last)):
            yield None
            return
        yield from _hits(last, name)
    elif isinstance(last, ast.If):
        yield from _tails(last.body, name, is_loop=False)
        yield from _tails(last.orelse, name, is_loop=False) if last.orelse else [None]
    elif isinstance(last, ast.Try) and not last.orelse and not last.finalbody:
        for part in (last.body, *(handler.body for handler in last.handlers)):
            yield from _tails(part, name, is_loop=False)
    else:
        counts = isinstance(last, _ENDS) or (isinstance(last, _Assigned) and _target(last) == name)
        yield last if counts else None


def _hits(loop: ast.For, name: str) -> Iterator[ast.stmt | None]:
    """Yield the assignments in a loop that are followed by a break out of it."""
    inner_loops = [part for part in ast.walk(loop) if isinstance(part, ast.For | ast.While) and part is not loop]
    if inner_loops:
        yield None
        return
    for part in ast.walk(loop):
        for body in (getattr(part, "body", None), getattr(part, "orelse", None)):
            if not isinstance(body, list) or not body or not isinstance(body[-1], ast.Break):
                continue
            before = body[-2] if len(body) > 1 else None
            yield before if isinstance(before, _Assigned) and _target(before) == name else None


def _target(statement: ast.Assign | ast.AnnAssign) -> str | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _is_plain(source: SourceText, statement: ast.Assign | ast.AnnAssign) -> bool:
    """Check that the value stays well laid out behind another word."""
    if statement.value is None:
        return False
    opening = source.line(statement.lineno).rstrip()
    return statement.lineno == last_line(statement) or opening.endswith(("(", "[", "{"))


def _constant_of(statement: ast.stmt | None, name: str) -> ast.Constant | None:
    if not isinstance(statement, _Assigned) or _target(statement) != name:
        return None
    return statement.value if isinstance(statement.value, ast.Constant) else None


def _count_of(name: str, compound: ast.stmt) -> int:
    nodes = (node for node in own_nodes(compound) if isinstance(node, ast.Name))
    return sum(node.id == name for node in nodes)


def _gap_holds_comment(source: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    return any("#" in source.line(number) for number in range(first_line(first), first_line(second)))


def _returned(source: SourceText, assigned: Sequence[ast.Assign | ast.AnnAssign]) -> list[Edit]:
    edits = []
    for statement in assigned:
        assert statement.value is not None
        # Parentheses around the value belong to the text after the sign.
        start, value = source.start_of(statement), source.start_of(statement.value)
        after = source.text.rindex("=", start, value) + 1
        edits.append(Edit(start, after, "return"))
    return edits


def _without(source: SourceText, statement: ast.stmt) -> Edit:
    first, last = first_line(statement), last_line(statement)
    if source.is_blank(first - 1) and isinstance(statement, ast.Return):
        first -= 1
    return Edit(source.starts[first - 1], source.line_end_offset(last), "")


def _without_breaks(source: SourceText, compound: ast.stmt) -> list[Edit]:
    return [_without(source, node) for node in ast.walk(compound) if isinstance(node, ast.Break)]


def _without_else(source: str, name: str) -> str | None:
    """Return the source without the first `else` behind a return at the end of the function."""
    text = SourceText(source)
    place = _only(text, name)
    if place is None:
        return None
    for node in _last_conditions(place.function.body):
        is_left = isinstance(node.body[-1], _ENDS)
        if node.orelse and is_left and not text.is_elif(node):
            try:
                return conditionals.SIMPLIFICATIONS["drop_else"](Conditional(text, node, (), place.function, 0))
            except RefusedRefactoring:
                continue  # another condition may allow it
    return None


def _last_conditions(body: Sequence[ast.stmt]) -> Iterator[ast.If]:
    last = body[-1]
    before = body[-2] if len(body) > 1 and isinstance(last, ast.Return) else None
    for node in (before, last):
        if isinstance(node, ast.If):
            yield node
            yield from _last_conditions(node.body)
            if node.orelse:
                yield from _last_conditions(node.orelse)
