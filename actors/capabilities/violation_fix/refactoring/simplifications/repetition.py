"""Writes conditions that follow each other and differ in a name alone as one loop."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.complexity import elif_of
from actors.capabilities.violation_fix.refactoring.conditionals import SIMPLIFICATIONS, Conditional
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names, names_read, places_of
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, spots_in
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

_LEAST = 3
_MAX_LINES = 4
_COLUMNS = (ast.Name, ast.Constant, ast.Attribute)
# Names for what the loop goes through, by what is a constant: a key, and a value beside it.
_KEYS, _VALUES = ("key", "name"), ("value", "item", "found")
_RETURNED, _PATTERNS = ("name", "kind", "key"), ("pattern", "regex")
_MESSAGES = ("message", "problem")
_HOLDERS = ("members", "group")
_ANYTHING = frozenset({"Any", "typing.Any", "t.Any"})
_MATCHING = frozenset({"match", "fullmatch", "search"})


def loop_over(spot: Spot) -> str | None:
    """Write three or more conditions of one shape, such as `if a is not None: d["a"] = a`, as a loop over pairs."""
    first = spot.node
    if not isinstance(first, ast.If) or spot.source.is_elif(first):
        return None
    if first.orelse:
        return _unchained(spot, first)
    if isinstance(spot.before, ast.If) and _differences(spot.before, first) is not None:
        return None
    run = _run(spot)
    if len(run) < _LEAST:
        return None
    rows = [_row(spot, first, other) for other in run[1:]]
    order = [ast.dump(part) for part in rows[0][0]]
    if any([ast.dump(part) for part in own] != order for own, _ in rows):
        return None
    columns = list(zip(rows[0][0], *(theirs for _, theirs in rows), strict=True))
    if not all(_is_safe(column, run) for column in columns) or len(columns) > 2:
        return None
    if any(isinstance(part, ast.Attribute) and not _is_set_in_class(spot, part) for each in columns for part in each):
        return None
    named = frozenset(part.id for column in columns for part in column if isinstance(part, ast.Name))
    constants = named - spot.around.place.locals
    if not all(_is_constant_of_module(spot, name) for name in constants):
        return None
    spot.refuse_maybe_unbound(named - constants, first)
    _refuse_typed(spot, first)
    spot.refuse_comments(first_line(first), last_line(run[-1]))
    names = _names(spot, columns)
    if spot.is_guarded and any(name in bound for bound in map(bound_names, run) for name in names):
        return None
    return spot.replaced(first, run[-1], _lines(spot, first, columns, names))


def _unchained(spot: Spot, first: ast.If) -> str | None:
    """Write the branches of a chain, each of which leaves, as conditions in a row, and those as a loop."""
    count, branch = 1, first
    while (other := elif_of(branch)) is not None and _differences(_alone(first), _alone(other)):
        count, branch = count + 1, other
    if count < _LEAST or not isinstance(first.body[-1], ast.Return | ast.Raise):
        return None
    text, line, place = spot.source.text, first.lineno, spot.around.place
    for _ in range(count):
        found = _spot_at(text, line, place.qualified_name, spot.around.line_length)
        if found is None or not isinstance(found.node, ast.If):
            return None
        if found.node.orelse:
            around = found.parents[-1] if found.parents else found.around.place.function
            this = Conditional(found.source, found.node, (), around, found.around.line_length)
            text = SIMPLIFICATIONS["drop_else"](this) or ""
        following = elif_of(found.node)
        line = following.lineno if following is not None else line
    found = _spot_at(text, first.lineno, place.qualified_name, spot.around.line_length)
    return loop_over(found) if found is not None else None


def _alone(branch: ast.If) -> ast.If:
    return ast.If(test=branch.test, body=branch.body, orelse=[])


def _spot_at(text: str, line: int, function: str, line_length: int) -> Spot | None:
    """Return the statement of a function that begins on a line."""
    source = SourceText(text)
    places = (place for place in places_of(source.tree) if place.qualified_name == function)
    spots = (spot for place in places for spot in spots_in(source, place, line_length))
    return next((spot for spot in spots if spot.line == line), None)


def _run(spot: Spot) -> list[ast.stmt]:
    run: list[ast.stmt] = [spot.node]
    for statement in spot.body[spot.position + 1 :]:
        found = _differences(spot.node, statement)
        if not found or spot.source.is_blank(first_line(statement) - 1):
            break
        run.append(statement)
    return run


def _row(spot: Spot, first: ast.stmt, other: ast.stmt) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the expressions in which two statements differ, each once, in the order of the text."""
    differences = _differences(first, other) or []
    pairs = {ast.dump(one): (one, two) for one, two in differences}
    counterparts = {(ast.dump(one), ast.dump(two)) for one, two in differences}
    occurrences = sum(ast.dump(node) in pairs for node in ast.walk(first) if isinstance(node, _COLUMNS))
    if len(counterparts) > len(pairs) or occurrences != len(differences):
        raise spot.refuse("not_alike", "what differs in one place is the same in another")
    formatted = [part for node in ast.walk(first) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)]
    if any(ast.dump(part) in pairs for part in formatted):
        raise spot.refuse("not_alike", "a formatted string differs")
    return [one for one, _ in pairs.values()], [two for _, two in pairs.values()]


def _refuse_typed(spot: Spot, first: ast.stmt) -> None:
    """Refuse where a type checker would know less of the names of the loop than of what they stand for."""
    function = spot.around.place.function
    if function.returns is None and not any(each.annotation for each in spot.around.place.parameters):
        return
    stored = {
        node.value.id
        for node in ast.walk(first)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }
    declared = [node for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
    anything = {
        node.target.id
        for node in declared
        if isinstance(node.target, ast.Name) and "dict[str, any]" in ast.unparse(node.annotation).lower()
    }
    kwarg = function.args.kwarg
    if kwarg is not None and (kwarg.annotation is None or ast.unparse(kwarg.annotation) in _ANYTHING):
        anything.add(kwarg.arg)
    if not stored or not stored <= anything:
        raise spot.refuse("unknown_type", "a type checker would not know what the loop goes through")


def _is_safe(column: Sequence[ast.expr], run: Sequence[ast.stmt]) -> bool:
    """Check that expressions mean the same before the first condition as where they stand."""
    if all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in column):
        return True
    if all(isinstance(part, ast.Attribute) for part in column):
        return True
    names = [part.id for part in column if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    bound = frozenset[str]().union(*(bound_names(statement) for statement in run))
    return len(names) == len(column) and not bound & set(names)


def _is_constant_of_module(spot: Spot, name: str) -> bool:
    """Return whether the module binds a name above the function, once, and nothing else in the file does."""
    nodes = list(ast.walk(spot.source.tree))
    stores = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    stores = [node for node in stores if not isinstance(node.ctx, ast.Load)]
    others = {getattr(node, field, None) for node in nodes for field in ("arg", "name", "asname", "rest")}
    others |= {each for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for each in node.names}
    top = spot.around.place.top_statement
    above = (each for each in spot.source.tree.body if isinstance(each, ast.Assign) and each.lineno < top.lineno)
    bound = [target for each in above for target in each.targets]
    return name not in others and len(stores) == 1 and any(stores[0] is target for target in bound)


def _is_membership(test: ast.Compare) -> bool:
    return isinstance(test.ops[0], ast.In | ast.NotIn)


def _is_set_in_class(spot: Spot, part: ast.Attribute) -> bool:
    """Return whether an attribute is one that a class of the module gives itself, by its own name, and keeps."""
    owner = part.value.id if isinstance(part.value, ast.Name) else ""
    if owner in spot.around.place.locals:
        return False
    tree = spot.source.tree
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == owner]
    stored = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == owner]
    if (
        len(classes) != 1
        or classes[0].keywords
        or classes[0].decorator_list
        or any(isinstance(node.ctx, ast.Store) for node in stored)
    ):
        return False
    assigned = [target for each in classes[0].body if isinstance(each, ast.Assign) for target in each.targets]
    set_elsewhere = any(
        isinstance(node, ast.Attribute) and node.attr == part.attr and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(tree)
    )
    return not set_elsewhere and any(isinstance(each, ast.Name) and each.id == part.attr for each in assigned)


def _names(spot: Spot, columns: Sequence[Sequence[ast.expr]]) -> list[str]:
    taken = spot.around.place.locals | names_read(spot.around.place.function)
    names: list[str] = []
    for column in columns:
        choices = _choices(spot.node, column[0])
        name = next((each for each in choices if each not in taken and each not in names), None)
        if name is None:
            raise spot.refuse("no_free_name", f"{', '.join(choices)} are taken")
        names.append(name)
    return names


def _choices(first: ast.stmt, part: ast.expr) -> Sequence[str]:
    """Return names for what a loop goes through, by what is done with it."""
    nodes = list(ast.walk(first))
    if isinstance(part, ast.Constant):
        if any(isinstance(node, ast.Raise) and any(part is each for each in ast.walk(node)) for node in nodes):
            return _MESSAGES
        is_returned = any(isinstance(node, ast.Return) and node.value is part for node in nodes)
        return _RETURNED if is_returned else _KEYS
    if any(isinstance(node, ast.Compare) and node.comparators[0] is part and _is_membership(node) for node in nodes):
        return _HOLDERS
    matched = (node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in _MATCHING)
    return _PATTERNS if any(node is part for node in matched) else _VALUES


def _lines(spot: Spot, first: ast.If, columns: Sequence[Sequence[ast.expr]], names: Sequence[str]) -> list[str]:
    source = spot.source
    unit = source.indent_unit(spot.around.place.function)
    order = sorted(range(len(columns)), key=lambda number: not isinstance(columns[number][0], ast.Constant))
    rows = [[spot.text(columns[number][row]) for number in order] for row in range(len(columns[0]))]
    items = [f"({', '.join(row)})" if len(row) > 1 else row[0] for row in rows]
    targets = ", ".join(names[number] for number in order)
    one_line = f"{spot.indent}for {targets} in ({', '.join(items)}):"
    head = [one_line]
    if not spot.fits(one_line):
        head = [f"{spot.indent}for {targets} in (", *(f"{spot.indent}{unit}{item}," for item in items)]
        head.append(f"{spot.indent}):")
    if last_line(first) - first.lineno + 1 > _MAX_LINES:
        raise spot.refuse("long_condition", "the conditions are long")
    lines = [*head, *(unit + line for line in _renamed(spot, first, columns, names))]
    if not all(spot.fits(line) for line in lines):
        raise spot.refuse("long_condition", "a line would be too long")
    return lines


def _renamed(spot: Spot, first: ast.If, columns: Sequence[Sequence[ast.expr]], names: Sequence[str]) -> list[str]:
    """Return the lines of the first condition with the names of the loop in place of its own."""
    source = spot.source
    wanted = {ast.dump(column[0]): name for column, name in zip(columns, names, strict=True)}
    found = [node for node in ast.walk(first) if isinstance(node, _COLUMNS) and ast.dump(node) in wanted]
    begin = source.starts[first.lineno - 1]
    text = source.text[begin : source.line_end_offset(last_line(first))]
    for node in sorted(found, key=source.start_of, reverse=True):
        start, end = source.start_of(node) - begin, source.end_of(node) - begin
        text = text[:start] + wanted[ast.dump(node)] + text[end:]
    if source.lines_inside_strings & set(range(first.lineno, last_line(first) + 1)):
        raise spot.refuse("long_condition", "a string spans lines")
    return text.splitlines()


def _differences(one: ast.AST, other: ast.AST) -> list[tuple[ast.expr, ast.expr]] | None:
    """Return the names and constants in which two trees differ; None where they differ otherwise."""
    if type(one) is not type(other):
        return None
    if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
        is_same = one.value == other.value and type(one.value) is type(other.value)
        return [] if is_same else [(one, other)]
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        return [] if one.id == other.id else [(one, other)]
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute) and one.attr != other.attr:
        is_of_same = isinstance(one.value, ast.Name) and ast.dump(one.value) == ast.dump(other.value)
        return [(one, other)] if is_of_same and isinstance(one.ctx, ast.Load) else None
    found: list[tuple[ast.expr, ast.expr]] = []
    for name in one._fields:
        for part, counterpart in _paired(getattr(one, name, None), getattr(other, name, None)):
            if not isinstance(part, ast.AST) or not isinstance(counterpart, ast.AST):
                if part != counterpart:
                    return None
                continue
            inner = _differences(part, counterpart)
            if inner is None:
                return None
            found += inner
    return found


def _paired(one: object, other: object) -> list[tuple[object, object]]:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return list(zip(one, other, strict=True))
    return [(one, other)]
