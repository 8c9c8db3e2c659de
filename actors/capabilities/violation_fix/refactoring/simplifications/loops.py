"""Finds loops that search, and turns them into any() and all()."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from actors.capabilities.violation_fix.refactoring.conditionals import negated, negates_well
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names, names_read
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, suspends_or_binds
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line


@dataclass(frozen=True)
class Search:
    """Holds a loop with at most one condition in it and what is done where it holds, or where it fails.

    `inner` is a loop that is all the outer one does: then the condition, and what is done, are of that.
    """

    loop: ast.For
    condition: ast.expr | None
    done: Sequence[ast.stmt]
    is_negated: bool = False
    inner: ast.For | None = None

    @property
    def loops(self) -> list[ast.For]:
        return [self.loop, *([self.inner] if self.inner is not None else [])]

    @property
    def targets(self) -> frozenset[str]:
        return frozenset[str]().union(*(bound_names(loop.target) for loop in self.loops))

    @property
    def expressions(self) -> list[ast.expr]:
        return [*(loop.iter for loop in self.loops), *([self.condition] if self.condition is not None else [])]


def search_of(spot: Spot) -> Search | None:
    return _search(spot.node)


def nested_search_of(spot: Spot) -> Search | None:
    """Return the search of a loop, or of a loop that does nothing but go through another one."""
    outer = _search(spot.node)
    inner = _search(outer.done[0]) if outer is not None and outer.condition is None and len(outer.done) == 1 else None
    if outer is None or inner is None:
        return outer
    is_own = not bound_names(inner.loop.target) & (names_read(inner.loop.iter) | names_read(outer.loop.iter))
    return replace(inner, loop=outer.loop, inner=inner.loop) if is_own else None


def _search(loop: ast.stmt) -> Search | None:
    if not isinstance(loop, ast.For) or loop.orelse or loop.type_comment:
        return None
    first, *others = loop.body
    if not isinstance(first, ast.If):
        return Search(loop, None, loop.body) if len(others) < 2 else None
    if first.orelse:
        return None if others else Search(loop, None, loop.body)
    if not others:
        return Search(loop, first.test, first.body)
    is_guard = isinstance(first.body[0], ast.Continue) and negates_well(first.test)
    return Search(loop, first.test, others, is_negated=True) if is_guard else None


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(isinstance(part, ast.Name) for part in target.elts)
    return isinstance(target, ast.Name)


def refuse_unfit(spot: Spot, search: Search, *others: ast.expr) -> None:
    """Refuse where a comprehension would not run as the loop does."""
    is_plain = all(_is_plain_target(loop.target) for loop in search.loops)
    if not is_plain or suspends_or_binds(*search.expressions, *others):
        raise spot.refuse("not_a_comprehension", "the loop does what a comprehension cannot")
    spot.refuse_live_after(search.targets, search.loop)
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, *others)))
    spot.refuse_maybe_unbound(read - search.targets, search.loop)


def return_any(spot: Spot) -> str | None:
    """Return any() or all() in place of a loop that returns True or False at the first hit."""
    search, after = search_of(spot), spot.after
    if search is None or search.condition is None or len(search.done) != 1:
        return None
    hit, missed = _truth(search.done[0]), _truth(after)
    if hit is None or missed is None or hit == missed or not isinstance(after, ast.Return):
        return None
    refuse_unfit(spot, search)
    spot.refuse_shadowed("any", "all")
    spot.refuse_comments(spot.line, last_line(after))
    if not hit and search.is_negated:
        return spot.replaced(spot.node, after, _call_lines(spot, replace(search, is_negated=False), "return all("))
    if not hit and isinstance(search.condition, ast.UnaryOp) and isinstance(search.condition.op, ast.Not):
        wanted = replace(search, condition=search.condition.operand)
        return spot.replaced(spot.node, after, _call_lines(spot, wanted, "return all("))
    return spot.replaced(spot.node, after, _call_lines(spot, search, "return any(" if hit else "return not any("))


def flag_any(spot: Spot) -> str | None:
    """Set a flag by any() in place of a loop that sets it and breaks."""
    search, before = search_of(spot), spot.before
    if search is None or search.condition is None or len(search.done) != 2:
        return None
    setting, ending = search.done
    if not isinstance(ending, ast.Break) or not isinstance(setting, ast.Assign) or not isinstance(before, ast.Assign):
        return None
    names = [only_name(setting), only_name(before)]
    values = [_constant(setting.value), _constant(before.value)]
    if names[0] is None or names[0] != names[1] or None in values or values[0] == values[1]:
        return None
    if names[0] in search.targets or any(names[0] in names_read(part) for part in search.expressions):
        return None
    refuse_unfit(spot, search)
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{names[0]} may be read after the loop raises")
    spot.refuse_shadowed("any")
    spot.refuse_comments(first_line(before), last_line(spot.node))
    head = f"{names[0]} = any(" if values[0] else f"{names[0]} = not any("
    return spot.replaced(before, spot.node, _call_lines(spot, search, head))


def test_any(spot: Spot) -> str | None:
    """Test by any() in place of a loop that leaves the function at the first hit, whichever it is."""
    search = search_of(spot)
    if search is None or search.condition is None or len(search.done) != 1:
        return None
    done = search.done[0]
    if not isinstance(done, ast.Return | ast.Raise) or _truth(done) is not None:
        return None
    if names_read(done) & search.targets:
        return None
    refuse_unfit(spot, search)
    spot.refuse_shadowed("any")
    spot.refuse_comments(spot.line, first_line(done) - 1)
    if any(spot.source.is_comment(number) for number in range(first_line(done), last_line(done) + 1)):
        raise spot.refuse("comment_lost", "a comment would be lost")
    if done.lineno != last_line(done):
        raise spot.refuse("long_condition", "what is done spans lines")
    head = _call_lines(spot, search, "if any(", "):")
    unit = spot.source.indent_unit(spot.around.place.function)
    return spot.replaced(spot.node, spot.node, [*head, f"{spot.indent}{unit}{spot.source.segment(done)}"])


def _call_lines(spot: Spot, search: Search, head: str, closing: str = ")") -> list[str]:
    return bracketed(spot, head, _generator(spot, search), closing)


def _generator(spot: Spot, search: Search) -> list[str]:
    """Return what is asked of each item, and the clause of the loop."""
    return [_condition(spot, search), _for_clause(spot, search.loop)]


def _condition(spot: Spot, search: Search) -> str:
    """Return the condition under which something is done, as it reads in a comprehension."""
    assert search.condition is not None
    condition = spot.text(search.condition)
    if search.is_negated:
        return negated(spot.source, search.condition)
    return f"({condition})" if isinstance(search.condition, ast.IfExp) else condition


def _for_clause(spot: Spot, loop: ast.For) -> str:
    iterated = spot.text(loop.iter)
    # Only a tuple has its parentheses within it.
    is_loose = (
        isinstance(loop.iter, ast.Tuple) and loop.iter.elts and _starts_at(loop.iter) == _starts_at(loop.iter.elts[0])
    )
    if isinstance(loop.iter, ast.IfExp) or is_loose:
        iterated = f"({iterated})"
    return f"for {spot.text(loop.target).strip('()')} in {iterated}"


def _starts_at(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def clauses_of(spot: Spot, search: Search) -> list[str]:
    clauses = [_for_clause(spot, loop) for loop in search.loops]
    return [*clauses, f"if {_condition(spot, search)}"] if search.condition is not None else clauses


def bracketed(spot: Spot, head: str, parts: Sequence[str], closing: str) -> list[str]:
    one_line = f"{spot.indent}{head}{' '.join(parts)}{closing}"
    if spot.fits(one_line):
        return [one_line]
    unit = spot.source.indent_unit(spot.around.place.function)
    inner = f"{spot.indent}{unit}{' '.join(parts)}"
    lines = [inner] if spot.fits(inner) else [f"{spot.indent}{unit}{part}" for part in parts]
    if not all(spot.fits(line) for line in lines):
        raise spot.refuse("long_condition", "a line would be too long")
    return [f"{spot.indent}{head}", *lines, f"{spot.indent}{closing}"]


def only_name(statement: ast.Assign | ast.AnnAssign) -> str | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    target = targets[0]
    return target.id if len(targets) == 1 and isinstance(target, ast.Name) else None


def _constant(value: ast.expr) -> bool | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _truth(statement: ast.stmt | None) -> bool | None:
    value = statement.value if isinstance(statement, ast.Return) else None
    return _constant(value) if value is not None else None
