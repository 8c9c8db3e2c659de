"""Writes loops that look for a first item, or count items, as next() and sum()."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import names_read
from actors.capabilities.violation_fix.refactoring.simplifications.loops import (
    Search,
    bracketed,
    clauses_of,
    only_name,
    refuse_unfit,
    search_of,
)
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, is_simple_value
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line


def return_first(spot: Spot) -> str | None:
    """Return next() of a generator in place of a loop that returns something of the first hit."""
    search, after = search_of(spot), spot.after
    if search is None or search.condition is None or len(search.done) != 1 or not isinstance(after, ast.Return):
        return None
    found = search.done[0]
    if not isinstance(found, ast.Return) or found.value is None or not names_read(found) & search.targets:
        return None
    default = after.value if after.value is not None else ast.Constant(None)
    if not _is_fit(found.value, default, search, spot.around.place.locals):
        return None
    refuse_unfit(spot, search, found.value, default)
    spot.refuse_shadowed("next")
    spot.refuse_comments(spot.line, last_line(after))
    text = spot.text(after.value) if after.value is not None else "None"
    return spot.replaced(spot.node, after, _next_lines(spot, "return ", found.value, search, text))


def assign_first(spot: Spot) -> str | None:
    """Assign next() of a generator in place of a loop that keeps the first hit and breaks."""
    search, before = search_of(spot), spot.before
    if search is None or search.condition is None or len(search.done) != 2 or not isinstance(before, ast.Assign):
        return None
    keeping, ending = search.done
    if not isinstance(ending, ast.Break) or not isinstance(keeping, ast.Assign):
        return None
    name = only_name(keeping)
    if name is None or name != only_name(before) or name in search.targets:
        return None
    if not isinstance(before.value, ast.Constant) or not is_simple_value(keeping.value):
        return None
    if name in frozenset[str]().union(*(names_read(part) for part in (*search.expressions, keeping.value))):
        return None
    if not names_read(keeping.value) & search.targets:
        return None
    refuse_unfit(spot, search, keeping.value)
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{name} may be read after the loop raises")
    spot.refuse_shadowed("next")
    spot.refuse_comments(first_line(before), last_line(spot.node))
    lines = _next_lines(spot, f"{name} = ", keeping.value, search, spot.text(before.value))
    return spot.replaced(before, spot.node, lines)


def count_hits(spot: Spot) -> str | None:
    """Sum ones in place of a loop that counts from zero."""
    search, before = search_of(spot), spot.before
    if search is None or search.condition is None or len(search.done) != 1 or not isinstance(before, ast.Assign):
        return None
    step, name = search.done[0], only_name(before)
    if not isinstance(step, ast.AugAssign) or not isinstance(step.op, ast.Add) or not isinstance(step.target, ast.Name):
        return None
    if name is None or step.target.id != name or not _is_number(step.value, 1) or not _is_number(before.value, 0):
        return None
    if name in search.targets or any(name in names_read(part) for part in search.expressions):
        return None
    refuse_unfit(spot, search)
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{name} may be read after the loop raises")
    spot.refuse_shadowed("sum")
    spot.refuse_comments(first_line(before), last_line(spot.node))
    return spot.replaced(before, spot.node, bracketed(spot, f"{name} = sum(", ["1", *clauses_of(spot, search)], ")"))


def _is_number(value: ast.expr, number: int) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int and value.value == number


def _is_fit(found: ast.expr, default: ast.expr, search: Search, local: frozenset[str]) -> bool:
    """Check that both values read well in a call, and that it makes no difference to look at the default first."""
    is_local = isinstance(default, ast.Name) and default.id in local - search.targets
    return (is_local or isinstance(default, ast.Constant)) and is_simple_value(found)


def _next_lines(spot: Spot, head: str, found: ast.expr, search: Search, default: str) -> list[str]:
    generator = f"({' '.join([spot.text(found), *clauses_of(spot, search)])})"
    one_line = f"{spot.indent}{head}next({generator}, {default})"
    if spot.fits(one_line):
        return [one_line]
    unit = spot.source.indent_unit(spot.around.place.function)
    inner = f"{spot.indent}{unit}{generator}, {default}"
    lines = [inner] if spot.fits(inner) else [f"{spot.indent}{unit}{part}," for part in (generator, default)]
    if not all(spot.fits(line) for line in lines):
        raise spot.refuse("long_condition", "a line would be too long")
    return [f"{spot.indent}{head}next(", *lines, f"{spot.indent})"]
