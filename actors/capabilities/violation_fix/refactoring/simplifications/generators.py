"""Hands on what another iterable yields without a loop."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.complexity import Try
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot
from actors.capabilities.violation_fix.refactoring.source_text import last_line

# What talks back to a generator, which a loop keeps from the inner one.
_TALKING = frozenset({"send", "throw", "asend", "athrow"})


def yield_from(spot: Spot) -> str | None:
    """Write `for x in y: yield x` as `yield from y`, where nobody in the file sends or throws into a generator."""
    loop, place = spot.node, spot.around.place
    if not isinstance(loop, ast.For) or loop.orelse or loop.type_comment or len(loop.body) != 1:
        return None
    only = loop.body[0]
    yielded = only.value.value if isinstance(only, ast.Expr) and isinstance(only.value, ast.Yield) else None
    if not isinstance(loop.target, ast.Name) or not isinstance(yielded, ast.Name) or yielded.id != loop.target.id:
        return None
    if isinstance(place.function, ast.AsyncFunctionDef) or place.function.decorator_list:
        raise spot.refuse("talked_to", "a decorator, or an event loop, may talk back to the generator")
    # An exception that is thrown in would reach the inner generator before the handler around it.
    if any(isinstance(parent, Try | ast.With) for parent in spot.parents):
        raise spot.refuse("talked_to", "what stands around the loop handles exceptions")
    if any(isinstance(node, ast.Attribute) and node.attr in _TALKING for node in ast.walk(spot.source.tree)):
        raise spot.refuse("talked_to", "the file sends or throws into generators")
    spot.refuse_live_after(frozenset({loop.target.id}), loop)
    spot.refuse_comments(spot.line, last_line(loop))
    if isinstance(loop.iter, ast.Tuple) and not spot.text(loop.iter).startswith("("):
        return None
    line = f"{spot.indent}yield from {spot.text(loop.iter)}"
    return spot.replaced(loop, loop, [line]) if spot.fits(line) else None
