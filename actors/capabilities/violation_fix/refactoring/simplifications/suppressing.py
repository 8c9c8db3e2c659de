"""Writes a `try` whose handler does nothing as `with contextlib.suppress(...)`."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.complexity import Loop
from actors.capabilities.violation_fix.refactoring.hazards import is_bare
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    apply_edits,
    first_line,
    last_line,
)

_MODULE = "contextlib"
# As a group these may hold others: from Python 3.12 on suppress() takes a group apart, which a handler does not.
_TOO_WIDE = frozenset({"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"})


def suppress_exception(spot: Spot) -> str | None:
    """Suppress an exception by a context manager in place of a handler that passes."""
    node, source = spot.node, spot.source
    if not isinstance(node, ast.Try) or len(node.handlers) != 1 or node.orelse or node.finalbody:
        return None
    handler = node.handlers[0]
    if handler.name or handler.type is None or len(handler.body) != 1 or not _does_nothing(spot, handler.body[0]):
        return None
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not all(isinstance(part, ast.Name) and part.id not in _TOO_WIDE for part in types):
        return None
    if any(isinstance(part, ast.Await | ast.AsyncWith | ast.AsyncFor | ast.Yield) for part in ast.walk(node)):
        raise spot.refuse("exception_group", "what is awaited may raise a group of exceptions")
    spot.refuse_comments(last_line(node.body[-1]) + 1, last_line(node))
    if first_line(node.body[0]) == node.lineno or source.line(node.lineno).strip() != "try:":
        raise spot.refuse("shared_line", "the try shares its line with other code or a comment")
    written, added = _context_manager(spot)
    head = f"{spot.indent}with {written}({', '.join(spot.text(part) for part in types)}):"
    if not spot.fits(head):
        raise spot.refuse("long_condition", "the line would be too long")
    end = source.line_end_offset(last_line(node))
    body_end = source.line_end_offset(last_line(node.body[-1]))
    opening = Edit(source.starts[node.lineno - 1], source.starts[node.lineno], head + source.newline)
    return apply_edits(source.text, [*added, opening, Edit(body_end, end, "")])


def _does_nothing(spot: Spot, statement: ast.stmt) -> bool:
    """Check that a handler goes on as if it were not there: what it leaves ends with the `try`."""
    if isinstance(statement, ast.Pass):
        return True
    around = spot.parents[-1] if spot.parents else spot.around.place.function
    if spot.after is not None or spot.body is not getattr(around, "body", None):
        return False
    if isinstance(statement, ast.Continue):
        return isinstance(around, Loop)
    return isinstance(statement, ast.Return) and is_bare(statement) and not spot.parents


def _context_manager(spot: Spot) -> tuple[str, list[Edit]]:
    """Return how suppress is spelled in the file, and the import that it still needs."""
    tree = spot.source.tree
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == _MODULE:
                    return f"{alias.asname or alias.name}.suppress", []
        elif isinstance(statement, ast.ImportFrom) and statement.module == _MODULE and not statement.level:
            for alias in statement.names:
                if alias.name == "suppress":
                    return alias.asname or alias.name, []
    if _MODULE in spot.around.module_names:
        raise spot.refuse("name_taken", f"{_MODULE} is another thing in the file")
    return f"{_MODULE}.suppress", [_import(spot)]


def _import(spot: Spot) -> Edit:
    """Put the import in its place among imports that are in order; refuse where there are none."""
    tree, source = spot.source.tree, spot.source
    plain = [node for node in tree.body if isinstance(node, ast.Import) and len(node.names) == 1]
    names = [node.names[0].name for node in plain]
    block = [plain[0]] if plain else []
    for one, other in pairwise(plain):
        if last_line(one) + 1 != other.lineno:
            break
        block.append(other)
    if not block:
        return _first_import(spot)
    if names[: len(block)] != sorted(names[: len(block)]) or "." in names[0]:
        raise spot.refuse("no_import", f"the file does not import {_MODULE}, and its imports are in no order")
    if names[0] not in sys.stdlib_module_names:
        return _first_import(spot)
    behind = next((node for node in block if node.names[0].name > _MODULE), None)
    offset = source.starts[behind.lineno - 1] if behind else source.line_end_offset(last_line(block[-1]))
    return Edit(offset, offset, f"import {_MODULE}{source.newline}")


def _first_import(spot: Spot) -> Edit:
    """Put the import above all others but those of `__future__`, in a group of its own where they are no standard."""
    source = spot.source
    found = [node for node in source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    first = next((node for node in found if getattr(node, "module", "") != "__future__"), None)
    if first is None or source.is_comment(first.lineno - 1):
        raise spot.refuse("no_import", f"the file does not import {_MODULE}, and nothing tells where to")
    name = (first.module or "") if isinstance(first, ast.ImportFrom) else first.names[0].name
    is_relative = isinstance(first, ast.ImportFrom) and first.level > 0
    is_standard = not is_relative and name.partition(".")[0] in sys.stdlib_module_names
    gap = "" if is_standard else source.newline
    offset = source.starts[first.lineno - 1]
    return Edit(offset, offset, f"import {_MODULE}{source.newline}{gap}")
