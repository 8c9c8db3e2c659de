"""Gathers some parameters of a private function in one object, where every caller lies in the file."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    BUILTIN_NAMES,
    FunctionPlace,
    bound_in,
    find_function,
    names_in_module,
)
from actors.capabilities.violation_fix.refactoring.hazards import refuse_dynamic_function
from actors.capabilities.violation_fix.refactoring.naming.name_words import words_of
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)


@dataclass(frozen=True)
class _Split:
    source: SourceText
    place: FunctionPlace
    grouped: Sequence[ast.arg]
    calls: Sequence[ast.Call]
    class_name: str
    parameter: str


def split_parameters(
    source: str,
    function_qualified_name: str,
    names: Sequence[str],
    *,
    class_name: str | None = None,
    reserved: Collection[str] = (),
) -> Refactored | Refused:
    """Gather consecutive parameters `names` in a named tuple beside the function, and change its callers.

    Refused with the code `escalate` unless the function is private to the module and is only ever called in it.
    """
    text = SourceText(source)
    try:
        place = find_function(text.tree, function_qualified_name)
        if place is None:
            return Refused("no_such_function", f"{function_qualified_name} is not in the file")
        refuse_dynamic_function(place.function)
        split = _split(text, place, names, class_name, frozenset(reserved))
        new_source = apply_edits(source, _edits(split))
    except RefusedRefactoring as refused:
        return refused.refusal
    except (SyntaxError, ValueError) as error:
        return Refused("syntax_error", f"the file does not parse: {error}", (getattr(error, "lineno", None) or 1,))
    description = f"Gather {', '.join(names)} of {function_qualified_name} in {split.class_name}"
    return Refactored(new_source, description, (split.class_name,))


def _split(
    source: SourceText, place: FunctionPlace, names: Sequence[str], class_name: str | None, reserved: frozenset[str]
) -> _Split:
    function = place.function
    if place.parents or not function.name.startswith("_") or function.name.startswith("__"):
        message = f"{place.qualified_name} is no private function of the module: its callers may lie anywhere"
        raise RefusedRefactoring("escalate", message, (function.lineno,))
    if function.decorator_list or function.args.vararg or function.args.kwarg or function.args.kwonlyargs:
        message = "decorators, variable or keyword-only parameters decide how the function is called"
        raise RefusedRefactoring("escalate", message, (function.lineno,))
    calls = _calls_of(source.tree, function)
    plain = [*function.args.posonlyargs, *function.args.args]
    grouped = _grouped(function, plain, names)
    for call in calls:
        if call.keywords or len(call.args) != len(plain) or any(isinstance(arg, ast.Starred) for arg in call.args):
            message = "a caller passes keywords, stars or not every parameter"
            raise RefusedRefactoring("escalate", message, (call.lineno,))
    taken = names_in_module(source.tree) | BUILTIN_NAMES | reserved
    words = words_of(function.name)
    name = class_name or "_" + "".join(word.title() for word in (words[1:] or words)) + "Options"
    parameter = "options"
    for spelled in (name, parameter):
        if spelled in taken:
            raise RefusedRefactoring("name_taken", f"{spelled} is already used in the file", (function.lineno,))
    return _Split(source, place, grouped, calls, name, parameter)


def _calls_of(tree: ast.Module, function: Function) -> list[ast.Call]:
    """Return the calls of a function; raise where it is used otherwise, or bound a second time."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_name(node.func, function.name)]
    called = {id(call.func) for call in calls}
    for node in ast.walk(tree):
        is_use = _is_name(node, function.name) and id(node) not in called
        exported = isinstance(node, ast.Constant) and node.value == function.name
        if is_use or exported or (isinstance(node, ast.Attribute) and node.attr == function.name):
            line = getattr(node, "lineno", function.lineno)
            raise RefusedRefactoring("escalate", f"{function.name} is not only called: it is handed on", (line,))
    inside = {id(node) for node in ast.walk(function)}
    nested = [call for call in calls for other in calls if call is not other and call in ast.walk(other)]
    if nested or any(id(call) in inside for call in calls):
        raise RefusedRefactoring("escalate", f"calls of {function.name} lie in one another", (function.lineno,))
    if not calls:
        raise RefusedRefactoring("escalate", f"no caller of {function.name} lies in the file", (function.lineno,))
    return calls


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _grouped(function: Function, plain: Sequence[ast.arg], names: Sequence[str]) -> list[ast.arg]:
    order = [argument.arg for argument in plain]
    if len(names) < 2 or any(name not in order for name in names):
        raise RefusedRefactoring(
            "bad_parameters", f"{', '.join(names)} are not two or more parameters", (function.lineno,)
        )
    begin = order.index(names[0])
    if order[begin : begin + len(names)] != list(names):
        message = "the parameters do not follow one another: arguments would be evaluated in another order"
        raise RefusedRefactoring("bad_parameters", message, (function.lineno,))
    grouped = list(plain[begin : begin + len(names)])
    if function.args.defaults:
        raise RefusedRefactoring("escalate", "the function has parameters with defaults", (function.lineno,))
    if any(name in bound_in(function) for name in names) or any(
        isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(function)
    ):
        raise RefusedRefactoring("bad_parameters", "the function assigns one of the parameters", (function.lineno,))
    return grouped


def _edits(split: _Split) -> list[Edit]:
    source, function = split.source, split.place.function
    first, last = split.grouped[0], split.grouped[-1]
    start = source.offset(first.lineno, first.col_offset)
    end = source.offset(last.end_lineno or last.lineno, last.end_col_offset or 0)
    is_annotated = all(argument.annotation for argument in split.grouped)
    annotation = f": {split.class_name}" if is_annotated else ""
    edits = [Edit(start, end, split.parameter + annotation), *_new_type(split)]
    names = {argument.arg for argument in split.grouped}
    for node in (part for statement in function.body for part in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id in names:
            edits.append(Edit(source.start_of(node), source.end_of(node), f"{split.parameter}.{node.id}"))
        elif isinstance(node, ast.arg) and node.arg in names:
            raise RefusedRefactoring("bad_parameters", f"a nested function has a parameter {node.arg}", (node.lineno,))
    plain = [*function.args.posonlyargs, *function.args.args]
    begin = plain.index(first)
    for call in split.calls:
        opening, closing = call.args[begin], call.args[begin + len(split.grouped) - 1]
        _refuse_parenthesized(source, call)
        edits.append(Edit(source.start_of(opening), source.start_of(opening), f"{split.class_name}("))
        edits.append(Edit(source.end_of(closing), source.end_of(closing), ")"))
    return edits


def _refuse_parenthesized(source: SourceText, call: ast.Call) -> None:
    """Refuse a call where anything but commas stands between the arguments: parentheses, comments."""
    ends = [source.end_of(call.func), *(source.end_of(argument) for argument in call.args)]
    starts = [*(source.start_of(argument) for argument in call.args), source.end_of(call)]
    between = [source.text[end:start].strip() for end, start in zip(ends, starts, strict=True)]
    expected = [("(",), *([(",",)] * (len(call.args) - 1)), (")", ",)")]
    if any(
        found.replace(source.newline, "").replace(" ", "") not in fits
        for found, fits in zip(between, expected, strict=True)
    ):
        message = "parentheses or comments stand between the arguments of a caller"
        raise RefusedRefactoring("parenthesized", message, (call.lineno,))


def _new_type(split: _Split) -> list[Edit]:
    """Write the named tuple before the function, and its import behind the imports."""
    source, function, name = split.source, split.place.function, split.class_name
    newline, unit = source.newline, source.indent_unit(function)
    names = [argument.arg for argument in split.grouped]
    if any(field.startswith("_") for field in names):
        raise RefusedRefactoring("bad_parameters", "a field cannot begin with an underscore", (function.lineno,))
    annotations = [source.segment(argument.annotation) for argument in split.grouped if argument.annotation]
    if len(annotations) == len(names):
        fields = [f"{unit}{field}: {annotation}" for field, annotation in zip(names, annotations, strict=True)]
        lines = [f"class {name}(NamedTuple):", *fields]
        module, imported = "typing", "NamedTuple"
    else:
        listed = ", ".join(f'"{field}"' for field in names)
        lines = [f'{name} = namedtuple("{name}", [{listed}])']
        module, imported = "collections", "namedtuple"
    begin = first_line(function)
    while begin > 1 and source.is_comment(begin - 1):
        begin -= 1
    offset = source.starts[begin - 1]
    definition = Edit(offset, offset, newline.join(lines) + newline * 3)
    # Both may stand at the head of the file: the import comes first there.
    return [*_import(source, module, imported, begin), definition]


def _import(source: SourceText, module: str, name: str, before_line: int) -> list[Edit]:
    imports = [node for node in source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    sources = [
        node for node in imports if isinstance(node, ast.ImportFrom) and (node.module, node.level) == (module, 0)
    ]
    if any(alias.name == name and alias.asname is None for node in sources for alias in node.names):
        return []
    if name in names_in_module(source.tree):
        raise RefusedRefactoring("name_taken", f"{name} is already used in the file", (before_line,))
    above = [node for node in imports if last_line(node) < before_line]
    statement = f"from {module} import {name}{source.newline}"
    if above:
        offset = source.line_end_offset(last_line(above[-1]))
        return [Edit(offset, offset, statement)]
    docstring = ast.get_docstring(source.tree) is not None
    offset = source.line_end_offset(last_line(source.tree.body[0])) if docstring else 0
    return [Edit(offset, offset, source.newline * docstring + statement + source.newline * (1 if docstring else 2))]
