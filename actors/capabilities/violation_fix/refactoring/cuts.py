"""Yields the runs of statements that a reader sees as one part of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from actors.capabilities.violation_fix.refactoring.block_analysis import FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.complexity import complexity_of
from actors.capabilities.violation_fix.refactoring.name_scopes import (
    Scope,
    bound_names,
    names_read,
    own_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

# How many simple statements may prepare the compound statement of a block, and how many may follow it.
_MAX_LEADING = 4
_MAX_TRAILING = 3
_MAX_PARAGRAPHS = 5
# How many statements may work on one result.
_MAX_FOR_RESULT = 6


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
    for begin in range(len(body)):
        paragraphs = 0
        for end in range(begin + 1, len(body) + 1):
            paragraphs += begins[end]
            if not any(compound[begin:end]):
                continue
            shape = _shape(body, begin, end, compound, begins, paragraphs, bool(parents))
            if shape is not None:
                yield Cut(body[begin:end], parents, shape)


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
