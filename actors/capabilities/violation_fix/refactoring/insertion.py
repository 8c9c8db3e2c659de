"""Chooses where a new function is put: beside its caller, in the order that the file keeps."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import Scope, names_read, statement_lists
from actors.capabilities.violation_fix.refactoring.placement import Host
from actors.capabilities.violation_fix.refactoring.source_text import Edit, SourceText, first_line, last_line

_BLANKS_AT_TOP, _BLANKS_IN_CLASS = 2, 1
_MOST_BLANKS = 3


def insertion_of(source: SourceText, top: ast.stmt, host: Host | None, definition: str) -> Edit:
    """Return the edit that puts a definition beside the old function: `host` has its class, `top` its top statement."""
    if host is not None:
        siblings = _siblings(host)
        blanks = _usual_blanks(source, siblings, _BLANKS_IN_CLASS)
        return _after(source, _last_namesake(siblings, host.method), definition, blanks)
    blanks = _usual_blanks(source, source.tree.body, _BLANKS_AT_TOP)
    if goes_after(source.tree, top):
        return _after(source, top, definition, blanks)
    return _before(source, top, definition, blanks)


def goes_after(tree: ast.Module, top: ast.stmt) -> bool:
    """Return whether a function of the module is put behind its caller, as most private functions of the file are.

    Only behind a plain function: a class, a decorator, or other code at the top may call its functions at once.
    """
    if not isinstance(top, Function) or top.decorator_list:
        return False
    is_shared = sum(getattr(statement, "name", None) == top.name for statement in tree.body) > 1
    return not is_shared and _callees_behind(tree) > 0


@lru_cache(maxsize=8)
def _callees_behind(tree: ast.Module) -> int:
    """Count the private functions that stand behind a caller, less those that stand before one."""
    lines = {each.name: each.lineno for each in tree.body if isinstance(each, Function) and each.name.startswith("_")}
    balance = 0
    for caller in tree.body:
        if isinstance(caller, Scope):
            called = (names_read(caller) & set(lines)) - {caller.name}
            balance += sum(1 if lines[name] > caller.lineno else -1 for name in called)
    return balance


def _siblings(host: Host) -> list[ast.stmt]:
    found = [host.class_.body]
    for body in found:
        if host.method in body:
            return body
        found += [inner for node in body if not isinstance(node, Scope) for inner in statement_lists(node)]
    return host.class_.body


def _last_namesake(siblings: list[ast.stmt], method: Function) -> ast.stmt:
    """Return the method, or the last of the methods after it that share its name (a property and its setter)."""
    position = siblings.index(method)
    while position + 1 < len(siblings) and getattr(siblings[position + 1], "name", None) == method.name:
        position += 1
    return siblings[position]


def _usual_blanks(source: SourceText, siblings: list[ast.stmt], default: int) -> int:
    """Return how many blank lines mostly stand between functions, at least one."""
    counted: Counter[int] = Counter()
    for one, other in pairwise(siblings):
        if isinstance(one, Scope) and isinstance(other, Scope):
            begin, end = last_line(one) + 1, first_line(other)
            gap = range(begin, end)
            if all(source.is_blank(number) for number in gap) and 1 <= len(gap) <= _MOST_BLANKS:
                counted[len(gap)] += 1
    most = counted.most_common(1)
    return most[0][0] if most else default


def _after(source: SourceText, statement: ast.stmt, definition: str, blanks: int) -> Edit:
    end = last_line(statement)
    indent = source.indent(first_line(statement))
    while end < source.line_count and source.is_comment(end + 1) and len(source.indent(end + 1)) > len(indent):
        end += 1
    offset = source.line_end_offset(end)
    gap = source.newline * blanks
    if source.lines(end, end).endswith(("\n", "\r")):
        return Edit(offset, offset, gap + definition)
    return Edit(offset, offset, source.newline + gap + definition.removesuffix(source.newline))


def _before(source: SourceText, statement: ast.stmt, definition: str, blanks: int) -> Edit:
    begin = first_line(statement)
    siblings = source.tree.body
    position = siblings.index(statement)
    # Overloads stay together with the function that they describe.
    while (
        position and isinstance(statement, Function) and getattr(siblings[position - 1], "name", None) == statement.name
    ):
        position -= 1
        begin = first_line(siblings[position])
    while begin > 1 and source.is_comment(begin - 1) and source.indent(begin - 1) == source.indent(begin):
        begin -= 1
    offset = source.starts[begin - 1]
    if begin == 1 and source.text.startswith("\ufeff"):
        offset += 1
    # Below imports stands as much as between functions.
    above = siblings[position - 1] if position else None
    gap = begin - 1 - last_line(above) if isinstance(above, ast.Import | ast.ImportFrom) else blanks
    lacking = max(blanks - gap, 0)
    return Edit(offset, offset, source.newline * lacking + definition + source.newline * blanks)
