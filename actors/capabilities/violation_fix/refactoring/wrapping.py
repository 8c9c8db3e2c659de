"""Wraps parameters and arguments as the file wraps its own: in columns below the bracket, or indented."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import parameters_of
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

_TAB = 8


def wraps_in_columns(source: SourceText) -> bool:
    """Return whether most long signatures of a file go on in the column behind the opening bracket."""
    balance = 0
    for node in ast.walk(source.tree):
        if not isinstance(node, Function):
            continue
        parameters = parameters_of(node.args)
        if parameters and parameters[-1].lineno > node.lineno:
            balance += 1 if parameters[0].lineno == node.lineno else -1
    return balance > 0


def wrapped(
    indent: str, before: str, items: Sequence[str], after: str, line_length: int, *, in_columns: bool = False
) -> list[str]:
    """Write a bracketed list on one line, else in columns, or on a line of its own, or one item a line."""
    one_line = f"{indent}{before}{', '.join(items)}{after}"
    if _width(one_line) <= line_length or not items:
        return [one_line]
    if in_columns:
        columns = _columns(indent, before, items, after, line_length)
        if max(map(_width, columns)) <= line_length:
            return columns
    unit = "\t" if indent.endswith("\t") else "    "
    inner = f"{indent}{unit}{', '.join(items)}"
    if _width(inner) <= line_length:
        return [f"{indent}{before}", inner, f"{indent}{after}"]
    return [f"{indent}{before}", *(f"{indent}{unit}{item}," for item in items), f"{indent}{after}"]


def _columns(indent: str, before: str, items: Sequence[str], after: str, line_length: int) -> list[str]:
    lines = [f"{indent}{before}"]
    gap = indent + " " * len(before)
    for number, item in enumerate(items):
        piece = item + (after if number + 1 == len(items) else ",")
        line = f"{lines[-1]} {piece}" if number and lines[-1].strip() else f"{lines[-1]}{piece}"
        if number and _width(line) > line_length:
            lines.append(f"{gap}{piece}")
        else:
            lines[-1] = line
    return lines


def _width(line: str) -> int:
    return len(line.expandtabs(_TAB))
