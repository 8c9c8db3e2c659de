"""Writes an endless loop that first reads, and breaks where nothing came, as a loop on what is read."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import Edit, apply_edits, last_line

# Of a loop of two lines the author made one already.
_LEAST_STATEMENTS = 3
_MAX_LENGTH = 88


def loop_on_read(spot: Spot) -> str | None:
    """Write `while True: x = f()` with `if not x: break` as `while x := f():`."""
    loop = spot.node
    if not isinstance(loop, ast.While) or loop.orelse or len(loop.body) < _LEAST_STATEMENTS:
        return None
    if not isinstance(loop.test, ast.Constant) or loop.test.value not in (True, 1):
        return None
    read, asked = loop.body[0], loop.body[1]
    if not isinstance(read, ast.Assign) or len(read.targets) != 1 or not isinstance(read.targets[0], ast.Name):
        return None
    if (
        not isinstance(asked, ast.If)
        or asked.orelse
        or len(asked.body) != 1
        or not isinstance(asked.body[0], ast.Break)
    ):
        return None
    name = read.targets[0].id
    form = _form_of(asked.test, name)
    if form is None or not isinstance(read.value, ast.Call | ast.Subscript | ast.Attribute):
        return None
    if not _has_new_syntax(spot.source.tree):
        raise spot.refuse("old_python", "nothing in the file tells that it may need Python 3.8")
    spot.refuse_comments(spot.line, last_line(asked))
    head = f"{spot.indent}while {form.format(f'{name} := {spot.text(read.value)}')}:"
    if not spot.fits(head) or len(head) > _MAX_LENGTH or read.lineno == loop.lineno:
        return None
    source, after = spot.source, last_line(asked) + 1
    while source.is_blank(after):
        after += 1
    edit = Edit(source.starts[loop.lineno - 1], source.starts[after - 1], head + source.newline)
    return apply_edits(source.text, [edit])


def _form_of(test: ast.expr, name: str) -> str | None:
    """Return how the loop asks whether to go on, where a test asks for the opposite of one name."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return "{}" if isinstance(test.operand, ast.Name) and test.operand.id == name else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is):
        return None
    is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    return "({}) is not None" if is_none and isinstance(test.left, ast.Name) and test.left.id == name else None


def _has_new_syntax(tree: ast.Module) -> bool:
    """Return whether a file has texts with values in them, or types: hardly anybody runs it by a Python before 3.8."""
    return any(isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr | ast.Match) for node in ast.walk(tree))
