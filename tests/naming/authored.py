"""Puts functions of packages back where they are called, so that names for blocks can be held against the authors'.

A function that its file calls once, by a statement of its own, is as if a block had been moved: its body takes the
place of the call, and what the block would be called is asked with nothing of the author's name in sight.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from actors.capabilities.violation_fix.refactoring.block_analysis import FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Cut, Shape
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, own_nodes, places_of
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.outcomes import Refused
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

SHORTEST, LONGEST = 3, 40
MOST_CHARACTERS = 300_000
_NOT_CODE = re.compile(
    r"(^|/)(patched|tests?|testing|docs?|examples?|benchmarks?|_?vendor(ed)?|extern|third_party|_generated)/"
)
_HEAD = 2000
_GENERATED = re.compile(r"auto-?generated|do not edit|generated (by|from)", re.I)


def sources_in(package: Path) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield path, text and tree of each file that people wrote and that is neither a test nor another's."""
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package).as_posix()
        if _NOT_CODE.search(relative) or path.name.startswith(("test_", "conftest", "_version")):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) > MOST_CHARACTERS or not text.isascii() or _GENERATED.search(text[:_HEAD]):
            continue
        try:
            yield relative, text, ast.parse(text)
        except (SyntaxError, ValueError):
            # Written for another version of Python.
            continue


def blocks_in(source: SourceText, tree: ast.Module) -> Iterator[tuple[str, BlockContext]]:
    """Yield the author's name and the block for each function of a file that can be put back."""
    places = list(places_of(tree))
    calls: dict[str, list[tuple[FunctionPlace, ast.stmt, ast.Call]]] = defaultdict(list)
    spelled: dict[str, int] = defaultdict(int)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            spelled[node.id] += 1
        elif isinstance(node, ast.Attribute):
            spelled[node.attr] += 1
    for place in places:
        for statement in _statements(place.function.body):
            if (call := _call_of(statement)) is not None:
                calls[_called(call)].append((place, statement, call))
    for place in places:
        name = place.function.name
        made = calls.get(name, [])
        if len(made) != 1 or spelled[name] != 1 or name.startswith("__") or place.function.decorator_list:
            continue
        caller, statement, call = made[0]
        if caller.function is place.function or place.function in caller.parents:
            continue
        context = _put_back(source, place, caller, statement, call)
        if context is not None:
            yield name, context


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        for node in own_nodes(statement):
            if isinstance(node, ast.stmt):
                yield node


def _call_of(statement: ast.stmt) -> ast.Call | None:
    """Return the call that a statement consists of, or whose result it binds or returns."""
    value = getattr(statement, "value", None) if isinstance(statement, ast.Expr | ast.Assign | ast.Return) else None
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) else None


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Name):
        return call.func.id
    is_own = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    return call.func.attr if is_own and call.func.value.id in ("self", "cls") else ""  # type: ignore[attr-defined]


def _put_back(
    source: SourceText, place: FunctionPlace, caller: FunctionPlace, statement: ast.stmt, call: ast.Call
) -> BlockContext | None:
    function = place.function
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body or isinstance(function, ast.AsyncFunctionDef) != isinstance(
        getattr(statement, "value", None), ast.Await
    ):
        return None
    begin, end = body[0].lineno, body[-1].end_lineno or 0
    while source.is_comment(begin - 1) and begin - 1 > function.lineno:
        begin -= 1
    if not SHORTEST <= end - begin + 1 <= LONGEST or any(_is_awkward(node) for part in body for node in ast.walk(part)):
        return None
    bound = _arguments(function, call, is_method=isinstance(call.func, ast.Attribute))
    renames = _renames(function, body, statement, bound) if bound is not None else None
    if bound is None or renames is None:
        return None
    lines = _renamed(source, begin, end, body, renames)
    tail = _tail(statement, body, renames)
    if tail is None:
        return None
    if tail:
        last = body[-1]
        lines[last.lineno - begin :] = [source.indent(last.lineno) + tail] if tail != "-" else []
    before = [f"{name} = {ast.unparse(value)}" for name, value in bound.items() if name not in renames]
    return _context(source, caller, statement, before, lines)


def _is_awkward(node: ast.AST) -> bool:
    is_long_text = isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno
    return is_long_text or isinstance(node, ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal)


def _arguments(function: Function, call: ast.Call, *, is_method: bool) -> dict[str, ast.expr] | None:
    """Return what each parameter is given; nothing where that cannot be told."""
    given = function.args
    if given.vararg or given.kwarg or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    names = [argument.arg for argument in [*given.posonlyargs, *given.args]]
    bound: dict[str, ast.expr] = {}
    if is_method and names[:1] and names[0] in ("self", "cls"):
        bound[names.pop(0)] = call.func.value  # type: ignore[attr-defined]
    defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
    names += [argument.arg for argument in given.kwonlyargs]
    defaults |= {
        argument.arg: value for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value
    }
    bound |= defaults
    bound |= dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        bound[keyword.arg] = keyword.value
    return bound if set(names) <= set(bound) else None


def _renames(
    function: Function, body: list[ast.stmt], statement: ast.stmt, bound: Mapping[str, ast.expr]
) -> dict[str, str] | None:
    """Return how names of the function are spelled at the call: as its arguments and its target are."""
    renames = {name: value.id for name, value in bound.items() if isinstance(value, ast.Name)}
    last = body[-1]
    if isinstance(statement, ast.Assign) and isinstance(last, ast.Return) and len(statement.targets) == 1:
        pairs = zip(_names(last.value), _names(statement.targets[0]), strict=False)
        renames |= {local: target for local, target in pairs if local and target and local not in bound}
    used = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)} - set(renames)
    return renames if not used & set(renames.values()) and len(set(renames.values())) == len(renames) else None


def _names(node: ast.expr | None) -> list[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node] if node is not None else []
    return [part.id if isinstance(part, ast.Name) else "" for part in parts]


def _renamed(source: SourceText, begin: int, end: int, body: list[ast.stmt], renames: Mapping[str, str]) -> list[str]:
    lines = [source.line(number).rstrip("\r\n") for number in range(begin, end + 1)]
    spelled = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Name) and node.id in renames]
    for node in sorted(spelled, key=lambda node: (-node.lineno, -node.col_offset)):
        row = node.lineno - begin
        if lines[row][node.col_offset : node.end_col_offset] == node.id:
            lines[row] = lines[row][: node.col_offset] + renames[node.id] + lines[row][node.end_col_offset :]
    return lines


def _tail(statement: ast.stmt, body: list[ast.stmt], renames: Mapping[str, str]) -> str | None:
    """Return what stands for the last `return`: "" to leave it, "-" for nothing, None where there is no way."""
    returns = [node for part in body for node in own_nodes(part) if isinstance(node, ast.Return)]
    if isinstance(statement, ast.Return):
        return ""
    if isinstance(statement, ast.Expr):
        if not returns:
            return ""
        return "-" if returns == [body[-1]] and returns[0].value is None and len(body) > 1 else None
    if len(returns) != 1 or returns[0] is not body[-1] or returns[0].value is None or len(body) < 2:
        return None
    assert isinstance(statement, ast.Assign)
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name | ast.Tuple):
        return None
    value = returns[0].value
    target = ast.unparse(statement.targets[0])
    renamed = [renames.get(name, name) for name in _names(value)]
    if renamed == _names(statement.targets[0]):
        return "-"
    value = copy.deepcopy(value)
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            node.id = renames.get(node.id, node.id)
    return f"{target} = {ast.unparse(value)}"


def _context(
    source: SourceText, caller: FunctionPlace, statement: ast.stmt, before: list[str], block: list[str]
) -> BlockContext | None:
    outer = next((each for each in (*caller.parents, caller.function) if isinstance(each, Function)), caller.function)
    class_ = next((each for each in reversed(caller.parents) if isinstance(each, ast.ClassDef)), None)
    first, last = outer.lineno, outer.end_lineno or 0
    lines = [source.line(number).rstrip("\r\n") for number in range(first, last + 1)]
    indent = source.indent(statement.lineno)
    laid = textwrap.indent(textwrap.dedent("\n".join(block)), indent).split("\n")
    at, to = statement.lineno - first, (statement.end_lineno or 0) - first
    lines[at : to + 1] = [*(indent + each for each in before), *laid]
    head: list[str] = []
    if class_ is not None and outer.col_offset:
        head = [f"class {class_.name}:"]
    text = "\n".join([*head, *(lines if head else textwrap.dedent("\n".join(lines)).split("\n"))]) + "\n"
    begin = len(head) + at + len(before) + 1
    return _cut_out(text, caller.function.name, begin, begin + len(laid) - 1)


def _cut_out(text: str, name: str, begin: int, end: int) -> BlockContext | None:
    made = SourceText(text)
    try:
        tree = made.tree
    except (SyntaxError, ValueError):
        return None
    for place in places_of(tree):
        if place.function.name != name:
            continue
        analysis = FunctionAnalysis(place)
        found = [each for each in analysis.parents if begin <= each.lineno and (each.end_lineno or 0) <= end]
        tops = [each for each in found if not set(map(id, analysis.parents[each])) & set(map(id, found))]
        if not tops or analysis.refusal is not None:
            continue
        tops.sort(key=lambda each: each.lineno)
        parents = analysis.parents[tops[0]]
        if any(analysis.parents[each] != parents for each in tops):
            return None
        extraction = analysis.analyse(tops)
        if isinstance(extraction, Refused):
            return None
        shape = Shape.PARAGRAPH if len(tops) > 1 else Shape.STATEMENT
        return BlockContext(made, place, Cut(tops, parents, shape), extraction)
    return None
