"""Turns loops that search or collect into any(), all() and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from actors.capabilities.violation_fix.refactoring.conditionals import negated, negates_well
from actors.capabilities.violation_fix.refactoring.name_scopes import bound_names, names_read
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


def collect(spot: Spot) -> str | None:
    """Collect by a comprehension in place of a loop that fills a new list, set or dictionary."""
    search = nested_search_of(spot)
    name = _filled_name(search.done[-1]) if search is not None and search.done else None
    before = _beginning(spot, name) if name is not None else None
    if search is None or before is None or name is None:
        return None
    found = _collected(spot, search, name)
    if found is None or not _is_empty(before.value, found.opening):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, *found.parts)))
    if name in read or name in search.targets:
        return None
    if len(found.parts) == 2 and sum(_may_act(part) for part in found.parts) > 1:
        raise spot.refuse("order", "key and value would be worked out in another order")
    refuse_unfit(spot, search, *found.parts)
    if any(_changes(part) for part in (*search.expressions, *found.parts)):
        raise spot.refuse("changes", "the loop changes something else besides, which a comprehension hides")
    if spot.is_guarded:
        raise spot.refuse("exception_visible", f"{name} may be read after the loop raises")
    if found.opening != "[":
        spot.refuse_shadowed("set", "dict")
    spot.refuse_comments(spot.line, last_line(spot.node))
    spot.refuse_comments(first_line(before), last_line(before))
    item = ": ".join(spot.text(part) for part in found.parts)
    annotation = f": {spot.source.segment(before.annotation)}" if isinstance(before, ast.AnnAssign) else ""
    head = f"{name}{annotation} = {found.opening}"
    lines = bracketed(spot, head, [item, *clauses_of(spot, search)], found.closing)
    if before is spot.before:
        spot.refuse_comments(first_line(before), last_line(spot.node))
        return spot.replaced(before, spot.node, lines)
    return spot.replaced(spot.node, spot.node, lines, without=before)


def _filled_name(statement: ast.stmt) -> str | None:
    """Return the name of what a statement adds to, or sets an item of."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        filled = statement.targets[0].value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        filled = function.value if isinstance(function, ast.Attribute) else function
    else:
        return None
    return filled.id if isinstance(filled, ast.Name) else None


# Simple statements, none of which leaves, that may stand between an empty container and the loop that fills it.
_PASSED = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_MAX_PASSED = 3


def _beginning(spot: Spot, name: str) -> ast.Assign | ast.AnnAssign | None:
    """Return the statement that makes a container, where nothing between it and the loop knows of it."""
    for number in range(spot.position - 1, max(spot.position - 2 - _MAX_PASSED, -1), -1):
        statement = spot.body[number]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and only_name(statement) == name:
            is_next = number == spot.position - 1
            return statement if statement.value is not None and (is_next or spot.stands_alone(statement)) else None
        is_passed = isinstance(statement, _PASSED) and name not in names_read(statement) | bound_names(statement)
        if not is_passed or name in spot.around.captured:
            return None
    return None


def _collected(spot: Spot, search: Search, name: str) -> Collected | None:
    """Return what a loop puts into a container; a name that only carries it there is left out."""
    if len(search.done) == 1:
        return collected_by(search.done[0], name)
    carried, added = search.done if len(search.done) == 2 else (None, search.done[-1])
    carrier = only_name(carried) if isinstance(carried, ast.Assign) else None
    found = collected_by(added, name) if carrier is not None else None
    if (
        found is None
        or carrier is None
        or not isinstance(carried, ast.Assign)
        or not _is_name(found.parts[-1], carrier)
    ):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, carried.value)))
    is_key_plain = all(isinstance(part, ast.Name | ast.Constant) for part in found.parts[:-1])
    if (
        carrier in read | search.targets | {name}
        or not is_key_plain
        or _is_name(found.parts[0], carrier, len(found.parts) > 1)
    ):
        return None
    spot.refuse_live_after(frozenset({carrier}), search.loop)
    return replace(found, parts=(*found.parts[:-1], carried.value))


def _is_name(part: ast.expr, name: str, asked: bool = True) -> bool:
    return asked and isinstance(part, ast.Name) and part.id == name


def extend_list(spot: Spot) -> str | None:
    """Extend a list, or update a set, by a generator in place of a loop that adds to it."""
    search = nested_search_of(spot)
    added = search.done[-1] if search is not None else None
    function = added.value.func if isinstance(added, ast.Expr) and isinstance(added.value, ast.Call) else None
    if search is None or not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    name = function.value.id
    found = _collected(spot, search, name)
    growing = _GROWING.get(function.attr)
    if found is None or growing is None or not is_made_here(spot, name, growing.kinds):
        return None
    read = frozenset[str]().union(*(names_read(part) for part in (*search.expressions, *found.parts)))
    if name in read or name in search.targets:
        return None
    refuse_unfit(spot, search, *found.parts)
    spot.refuse_maybe_unbound(frozenset({name}), search.loop)
    spot.refuse_comments(spot.line, last_line(spot.node))
    parts = [spot.text(found.parts[0]), *clauses_of(spot, search)]
    return spot.replaced(spot.node, spot.node, bracketed(spot, f"{name}.{growing.method}(", parts, ")"))


@dataclass(frozen=True)
class _Growing:
    method: str
    kinds: tuple[type[ast.expr], ...]


_GROWING = {"append": _Growing("extend", (ast.List, ast.ListComp)), "add": _Growing("update", (ast.Set, ast.SetComp))}
_EMPTY_CALLS = {ast.List: "list", ast.Set: "set", ast.Dict: "dict"}


def is_made_here(spot: Spot, name: str, kinds: tuple[type[ast.expr], ...]) -> bool:
    """Check that a local name only ever stands for a container of one kind that the function makes."""
    function = spot.around.place.function
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AnnAssign)]
    values = [node.value for node in assigned if only_name(node) == name]
    stores = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    count = sum(isinstance(node.ctx, ast.Store) for node in stores)
    is_parameter = name in {argument.arg for argument in spot.around.place.parameters}
    made = all(isinstance(value, kinds) or _is_empty_call(spot, value, kinds) for value in values)
    return bool(values) and made and count == len(values) and not is_parameter and name in spot.around.place.locals


def _is_empty_call(spot: Spot, value: ast.expr | None, kinds: tuple[type[ast.expr], ...]) -> bool:
    if not isinstance(value, ast.Call) or value.keywords or not isinstance(value.func, ast.Name):
        return False
    if not all(isinstance(each, ast.List | ast.Tuple) and not each.elts for each in value.args):
        return False
    name = value.func.id
    return name not in spot.around.bound_anywhere and any(_EMPTY_CALLS.get(kind) == name for kind in kinds)


@dataclass(frozen=True)
class Collected:
    opening: str
    closing: str
    parts: tuple[ast.expr, ...]


def collected_by(statement: ast.stmt, name: str | None) -> Collected | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            is_plain = not isinstance(target.slice, ast.Slice | ast.Tuple | ast.Starred)
            return Collected("{", "}", (target.slice, statement.value)) if is_plain else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None
    function, item = call.func, call.args[0]
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    brackets = {"append": "[]", "add": "{}"}.get(function.attr)
    if function.value.id != name or brackets is None or isinstance(item, ast.Starred):
        return None
    return Collected(brackets[0], brackets[1], (item,))


def _is_empty(value: ast.expr | None, opening: str) -> bool:
    if isinstance(value, ast.List):
        return opening == "[" and not value.elts
    if isinstance(value, ast.Dict):
        return opening == "{" and not value.keys
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
        return value.func.id == {"[": "list", "{": "set"}[opening]
    return False


_CHANGING = frozenset(
    {"append", "add", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove", "setdefault"}
    | {"update", "write", "writelines"}
)


def _changes(value: ast.expr) -> bool:
    """Check for calls that take from a container or add to it."""
    calls = (part.func for part in ast.walk(value) if isinstance(part, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr in _CHANGING for function in calls)


def _may_act(value: ast.expr) -> bool:
    """Check for calls and look-ups, whose order may be seen."""
    acting = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.JoinedStr, ast.Await)
    return any(isinstance(part, acting) for part in ast.walk(value))


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
