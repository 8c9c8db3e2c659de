"""Simplifies `try` statements: handlers that do the same, and an `else` that no handler comes to."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    apply_edits,
    first_line,
    last_line,
    shifted_lines,
)

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def merge_handlers(spot: Spot) -> str | None:
    """Write two handlers with the same body, one behind the other, as one for both exceptions."""
    node = spot.node
    if not isinstance(node, ast.Try):
        return None
    source = spot.source
    for first, second in zip(node.handlers, node.handlers[1:], strict=False):
        if first.name != second.name or not _is_same(first, second):
            continue
        types = [*_types(first), *_types(second)]
        if not types or not all(isinstance(part, ast.Name | ast.Attribute) for part in types):
            continue
        begin = last_line(first.body[-1]) + 1
        spot.refuse_comments(first.lineno, first.body[0].lineno - 1)
        spot.refuse_comments(begin, last_line(second.body[-1]))
        name = f" as {first.name}" if first.name else ""
        head = f"{source.indent(first.lineno)}except ({', '.join(spot.text(part) for part in types)}){name}:"
        if not spot.fits(head) or first.body[0].lineno == first.lineno or second.body[0].lineno == second.lineno:
            raise spot.refuse("long_condition", "the line would be too long, or is shared")
        opening = Edit(
            source.starts[first.lineno - 1], source.starts[first_line(first.body[0]) - 1], head + source.newline
        )
        end = source.line_end_offset(last_line(second.body[-1]))
        return apply_edits(source.text, [opening, Edit(source.starts[begin - 1], end, "")])
    return None


def _types(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return []
    return list(handler.type.elts) if isinstance(handler.type, ast.Tuple) else [handler.type]


def _is_same(first: ast.ExceptHandler, second: ast.ExceptHandler) -> bool:
    return [ast.dump(part) for part in first.body] == [ast.dump(part) for part in second.body]


def leave_else(spot: Spot) -> str | None:
    """Move the `else` of a `try` out of it, where every handler leaves and nothing has to be done at the end."""
    node, source = spot.node, spot.source
    if not isinstance(node, ast.Try) or not node.orelse or node.finalbody or not node.handlers:
        return None
    if not all(isinstance(handler.body[-1], _ENDS) for handler in node.handlers):
        return None
    first = node.orelse[0]
    header = next(n for n in range(first.lineno, 0, -1) if source.line(n).lstrip().startswith("else"))
    if first.lineno == header or source.line(header).strip() != "else:":
        raise spot.refuse("shared_line", "the else clause shares its line with other code")
    end = last_line(node)
    inner = source.indent(first.lineno)
    body = shifted_lines(source, header + 1, end, inner, spot.indent)
    if not source.lines(end, end).endswith(("\n", "\r")):
        body = body.removesuffix(source.newline)
    return apply_edits(source.text, [Edit(source.starts[header - 1], source.line_end_offset(end), body)])
