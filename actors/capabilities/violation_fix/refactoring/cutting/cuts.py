"""Yields the runs of statements that a reader sees as one part of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.block_analysis import FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.complexity import complexity_of
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    Scope,
    bound_names,
    names_read,
    own_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.naming.block_effects import is_assertion
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

# How many simple statements may prepare the compound statement of a block, and how many may follow it.
_MAX_LEADING = 4
_MAX_TRAILING = 3
_MAX_PARAGRAPHS = 5
# How many statements may work on one result.
_MAX_FOR_RESULT = 6
# Calls that put one thing into a collection.
_KEEPING = frozenset({"append", "appendleft", "add"})


class Shape(Enum):
    """Tells why a run of statements is a unit."""

    BODY = "all that runs in a branch or loop"
    STATEMENT = "one compound statement"
    PARAGRAPH = "what stands between blank lines or comments"
    PREPARED = "a compound statement with what it needs"
    SERIES = "compound statements in a row"
    RESULT = "all that makes one result"
    REST = "everything up to the end of the block"


@dataclass(frozen=True)
class Cut:
    """Holds consecutive statements and the statements around them, outermost first."""

    statements: Sequence[ast.stmt]
    parents: tuple[ast.stmt, ...]
    shape: Shape


def cuts_of(analysis: FunctionAnalysis, source: SourceText) -> Iterator[Cut]:
    """Yield the cuts of a function, outer blocks first; the rest of a chain of branches is none."""
    pending: list[tuple[list[ast.stmt], tuple[ast.stmt, ...]]] = [(analysis.place.function.body, ())]
    while pending:
        body, parents = pending.pop(0)
        if not source.is_elif(body[0]):
            yield from _cuts_in(body, parents, source)
        for statement in body:
            if not isinstance(statement, Scope):
                pending += [(inner, (*parents, statement)) for inner in statement_lists(statement)]


def _cuts_in(body: list[ast.stmt], parents: tuple[ast.stmt, ...], source: SourceText) -> Iterator[Cut]:
    compound = [complexity_of([statement]) > 0 for statement in body]
    begins = [_begins_paragraph(body, position, source) for position in range(len(body))] + [True]
    seen: set[tuple[int, int]] = set()
    for begin in range(len(body)):
        paragraphs = 0
        for end in range(begin + 1, len(body) + 1):
            paragraphs += begins[end]
            if not any(compound[begin:end]):
                continue
            shape = _shape(body, begin, end, compound, begins, paragraphs, bool(parents))
            if shape is None:
                continue
            needed = begin + _unread_stores(body[begin:end])
            shape = Shape.RESULT if needed > begin and shape in (Shape.BODY, Shape.REST) else shape
            found = [(needed, end, shape)]
            if stores_result(body[needed:end]) and any(compound[needed : end - 1]):
                found.append((needed, end - 1, Shape.RESULT))
            for first, last, kind in found:
                is_part = _parts_checks(body, first, last) or _parts_paragraph(body, first, last, begins, source)
                if (first, last) not in seen and not is_part:
                    yield Cut(body[first:last], parents, kind)
                seen.add((first, last))


def _parts_paragraph(
    body: Sequence[ast.stmt], begin: int, end: int, begins: Sequence[bool], source: SourceText
) -> bool:
    """Return whether statements go past a paragraph under a comment and hold only a part of that."""
    for start, stop in _paragraphs(begins):
        # A comment above a loop speaks of that.
        covered = start + 1 if isinstance(body[start], _LOOPS) else stop
        is_part = start < begin < covered < end or begin < start < end < covered
        if is_part and source.is_comment(first_line(body[start]) - 1):
            return True
    return False


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _paragraphs(begins: Sequence[bool]) -> Iterator[tuple[int, int]]:
    starts = [number for number, is_start in enumerate(begins) if is_start]
    return pairwise(starts)


def _unread_stores(statements: Sequence[ast.stmt]) -> int:
    """Return how many statements at the beginning bind a name that the others store again, or leave alone."""
    for number, statement in enumerate(statements):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(target, ast.Name):
            return number
        if len(bound_names(statement)) > 1 or not _is_unread(target.id, statements[number + 1 :]):
            return number
    return 0


def _is_unread(name: str, statements: Sequence[ast.stmt]) -> bool:
    touching = next((each for each in statements if name in _touched(each)), None)
    if touching is None:
        return True
    return isinstance(touching, ast.Assign | ast.AnnAssign) and name not in names_read(touching)


def stores_result(statements: Sequence[ast.stmt]) -> bool:
    """Return whether the last statement only hands what the others made to a collection that was there before."""
    last, before = statements[-1], statements[:-1]
    if isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Subscript):
        kept: ast.expr | None = last.targets[0].value
        value, others = last.value, names_read(last.targets[0].slice)
    elif isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and len(last.value.args) == 1:
        function, value, others = last.value.func, last.value.args[0], frozenset[str]()
        is_kept = isinstance(function, ast.Attribute) and function.attr in _KEEPING and not last.value.keywords
        kept = function.value if is_kept and isinstance(function, ast.Attribute) else None
    else:
        return False
    bound = frozenset[str]().union(*(bound_names(each) for each in before))
    is_there = isinstance(kept, ast.Name) and kept.id not in bound
    return is_there and isinstance(value, ast.Name) and value.id in bound and not others & bound


def _shape(
    body: list[ast.stmt],
    begin: int,
    end: int,
    compound: Sequence[bool],
    begins: Sequence[bool],
    paragraphs: int,
    is_inner: bool,
) -> Shape | None:
    if begin == 0 and end == len(body):
        return Shape.BODY if is_inner else Shape.REST
    if end - begin == 1:
        return Shape.STATEMENT
    if begins[begin] and begins[end] and paragraphs <= _MAX_PARAGRAPHS:
        return Shape.PARAGRAPH if paragraphs == 1 else Shape.REST
    if begins[begin] and end == len(body):
        return Shape.REST
    if _is_run_of_checks(body, begin, end):
        return Shape.STATEMENT
    if all(compound[begin:end]) and (end == len(body) or not compound[end]) and (not begin or not compound[begin - 1]):
        return Shape.SERIES
    if _makes_one_result(body, begin, end, compound) or (is_inner and _leads_to_last(body, begin, end, compound)):
        return Shape.RESULT
    first = compound.index(True, begin)
    if first - begin > _MAX_LEADING or end - first - 1 > _MAX_TRAILING:
        return None
    is_led = all(_prepares(statement, body[first]) for statement in body[begin:first])
    is_followed = all(_continues(statement, body[begin:end]) for statement in body[first + 1 : end])
    return Shape.PREPARED if is_led and is_followed else None


def _is_run_of_checks(body: Sequence[ast.stmt], begin: int, end: int) -> bool:
    """Return whether statements are all of those in a row that raise unless the same thing is as it should be."""
    if end - begin < 2 or not all(_check_alike(body[at], body[at + 1]) for at in range(begin, end - 1)):
        return False
    return not _parts_checks(body, begin, end)


def _parts_checks(body: Sequence[ast.stmt], begin: int, end: int) -> bool:
    """Return whether a statement beside others goes on with what these check."""
    goes_on = end < len(body) and _check_alike(body[end - 1], body[end])
    return goes_on or (begin > 0 and _check_alike(body[begin - 1], body[begin]))


def _check_alike(one: ast.stmt, other: ast.stmt) -> bool:
    """Return whether two statements right behind each other only raise, and ask about the same name."""
    if first_line(other) > last_line(one) + 1:
        return False
    return bool(_checked_by(one) & _checked_by(other))


def _checked_by(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement asks for, if it raises wherever it does anything."""
    if isinstance(statement, ast.Assert):
        return names_read(statement.test)
    if isinstance(statement, ast.Expr) and is_assertion(statement.value):
        return names_read(statement.value)
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Raise):
        return frozenset()
    if not statement.orelse:
        return names_read(statement.test)
    further = _checked_by(statement.orelse[0]) if len(statement.orelse) == 1 else frozenset[str]()
    return names_read(statement.test) | further if further else further


def _makes_one_result(body: Sequence[ast.stmt], begin: int, end: int, compound: Sequence[bool]) -> bool:
    """Check that statements begin with what is bound to a name and all go on with it, the last of those that do."""
    first = body[begin]
    target = first.targets[0] if isinstance(first, ast.Assign) else getattr(first, "target", None)
    if not isinstance(first, ast.Assign | ast.AnnAssign) or not isinstance(target, ast.Name) or compound[begin]:
        return False
    if not 2 <= end - begin <= _MAX_FOR_RESULT or not all(_fills(body[at], target.id) for at in range(begin + 1, end)):
        return False
    return not (end < len(body) and _fills(body[end], target.id)) and not (begin and _fills(body[begin - 1], target.id))


def _leads_to_last(body: Sequence[ast.stmt], begin: int, end: int, compound: Sequence[bool]) -> bool:
    """Check that statements are all of a branch or loop but its last one, which hands on what they end with."""
    if begin > 0 or end != len(body) - 1 or compound[end]:
        return False
    return bool(bound_names(body[end - 1]) & names_read(body[end]))


def _fills(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement binds a name, its items or attributes, or calls one of its methods for the effect."""
    if name in bound_names(statement):
        return True
    for node in own_nodes(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            if isinstance(node.value, ast.Name) and node.value.id == name:
                return True
            continue
        called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == name:
            return True
    return False


def _begins_paragraph(body: Sequence[ast.stmt], position: int, source: SourceText) -> bool:
    if position == 0 or (position == 1 and _is_text(body[0])):
        return True
    before = last_line(body[position - 1])
    return any(
        source.is_blank(number) or source.is_comment(number) for number in range(before + 1, first_line(body[position]))
    )


def _is_text(statement: ast.stmt) -> bool:
    """Check for a docstring."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _prepares(statement: ast.stmt, compound: ast.stmt) -> bool:
    """Return whether a simple statement binds only what a compound statement goes on with."""
    bound = bound_names(statement)
    return isinstance(statement, ast.Assign | ast.AnnAssign) and bool(bound) and bound <= _touched(compound)


def _continues(statement: ast.stmt, block: Sequence[ast.stmt]) -> bool:
    if complexity_of([statement]) > 0:
        return False
    bound = frozenset[str]().union(*(bound_names(part) for part in block if part is not statement))
    return bool(names_read(statement) & bound)


def _touched(statement: ast.stmt) -> frozenset[str]:
    return names_read(statement) | bound_names(statement)
