"""Holds a block with the lines that move with it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.comments import first_moved_line
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace
from actors.capabilities.violation_fix.refactoring.hazards import has_examples
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line


@dataclass(frozen=True)
class Block:
    """Holds consecutive statements of one statement list and the lines that move with them."""

    source: SourceText
    place: FunctionPlace
    statements: tuple[ast.stmt, ...]
    first_line: int
    last_line: int


def block_of(source: SourceText, place: FunctionPlace, statements: Sequence[ast.stmt]) -> Block:
    """Return a block with its lines; raise RefusedRefactoring where other code shares them."""
    first, last = statements[0], statements[-1]
    begin, end = first_line(first), last_line(last)
    before = source.text[
        source.starts[begin - 1] : source.offset(begin, first.col_offset if begin == first.lineno else 0)
    ]
    if before.strip(" \t\f\ufeff") or _shares_last_line(source, last):
        raise RefusedRefactoring("shared_line", "other code stands on a line of the block", (begin, end))
    if source.is_elif(first):
        # The rest of a chain moves as an `if`; comments above it belong to the branch before.
        return Block(source, place, tuple(statements), begin, end)
    if first is place.function.body[0] and _is_docstring(first):
        raise RefusedRefactoring("docstring", "the block holds the docstring of the function", (begin,))
    if has_examples([first]):
        raise RefusedRefactoring("doctest", "the text would become a docstring whose examples run", (begin,))
    indent = source.indent(begin)
    begin = first_moved_line(source, begin, place.function)
    while end < source.line_count and source.is_comment(end + 1) and len(source.indent(end + 1)) > len(indent):
        end += 1
    return Block(source, place, tuple(statements), begin, end)


def _shares_last_line(source: SourceText, last: ast.stmt) -> bool:
    rest = source.text[source.end_of(last) : source.line_end_offset(last_line(last))].strip()
    return bool(rest) and not rest.startswith("#")


def _is_docstring(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)
