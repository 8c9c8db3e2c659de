"""Spells out, as short texts, what tells by which verb a block would be named."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind, spelled
from actors.capabilities.violation_fix.refactoring.naming.name_words import singular, words_of
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line

_MOST_WORDS_OF_A_TEXT = 6
_SIZES = (4, 6, 9, 13, 19, 28)


def features_of(context: BlockContext) -> frozenset[str]:
    """Return the features of a block."""
    found = set(_of_surroundings(context))
    for node in context.nodes:
        found.update(_of_node(node))
    found.update(_of_results(context))
    found.update(_of_effects(context))
    found.update(_of_shape(context))
    found.update(_of_comments(context))
    return frozenset(found)


def _words(name: str) -> list[str]:
    return [singular(word) for word in words_of(name.strip("_"))]


def _of_surroundings(context: BlockContext) -> Iterator[str]:
    """Yield what the function and class around a block are called."""
    words = _words(context.function_name)
    yield from (f"in:{word}" for word in words)
    if words:
        yield f"in1:{words[0]}"
    if context.place.is_method:
        yield from (f"of:{word}" for word in _words(context.place.parents[-1].name))
    for number, name in enumerate(context.inputs):
        yield from (f"given:{word}" for word in _words(name))
        if number == 0:
            yield from (f"given1:{word}" for word in _words(name))


def _of_node(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else spelled(node.func)
        words = _words(name)
        yield f"call:{name.strip('_').lower()}"
        yield from (f"called:{word}" for word in words)
        if words:
            yield f"call1:{words[0]}"
        yield from _of_message(node, name)
    elif isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        yield from (f"raise:{word}" for word in _words(spelled(raised).rpartition(".")[2] if raised else ""))
        if isinstance(node.exc, ast.Call):
            yield from _of_texts(node.exc, "error")
    elif isinstance(node, ast.Attribute):
        if isinstance(node.ctx, ast.Store):
            yield from (f"set:{word}" for word in _words(node.attr))
        else:
            yield from (f"attribute:{word}" for word in _words(node.attr))
    elif isinstance(node, ast.Name):
        kind = "bind" if isinstance(node.ctx, ast.Store) else "name"
        yield from (f"{kind}:{word}" for word in _words(node.id))
    elif isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield from (f"key:{word}" for word in _words(node.slice.value)[:3])
        yield f"item:{type(node.ctx).__name__}"
    if isinstance(node, ast.stmt | ast.Yield | ast.Await | ast.BinOp | ast.comprehension | ast.JoinedStr | ast.Lambda):
        yield f"node:{type(node).__name__}"


def _of_message(call: ast.Call, name: str) -> Iterator[str]:
    if name in ("debug", "info", "warning", "error", "exception", "log", "print", "warn", "critical"):
        yield "logs"
        yield from _of_texts(call, "log")


def _of_texts(call: ast.Call, kind: str) -> Iterator[str]:
    for given in call.args[:2]:
        text = given.values[0] if isinstance(given, ast.JoinedStr) and given.values else given
        text = text.left if isinstance(text, ast.BinOp) else text
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            words = text.value.split()[:_MOST_WORDS_OF_A_TEXT]
            yield from (f"{kind}:{word.strip('.,:;!?').lower()}" for word in words if word.isascii())


def _of_results(context: BlockContext) -> Iterator[str]:
    """Yield what is made, and out of what."""
    outputs = context.outputs
    returned = context.returned_name
    names = list(outputs) or ([returned] if returned else [])
    yield f"results:{min(len(outputs), 3)}"
    for name in names:
        yield from (f"result:{word}" for word in _words(name))
        if name in context.inputs:
            yield "result:given"
    values = [node.value for node in context.nodes if isinstance(node, ast.Return) and node.value is not None]
    for node in context.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id in names for target in targets):
                values.append(node.value)
                yield f"bound by:{type(node).__name__}"
    for value in values:
        yield f"value:{type(value).__name__}"
        called = value.value if isinstance(value, ast.Await) else value
        if isinstance(called, ast.Call):
            name = called.func.attr if isinstance(called.func, ast.Attribute) else spelled(called.func)
            yield from (f"made by:{word}" for word in _words(name))
            yield "made by:Class" if name[:1].isupper() else "made by:function"
        elif isinstance(value, ast.Constant):
            yield f"value:{value.value!r}"[:12]


def _of_effects(context: BlockContext) -> Iterator[str]:
    effects = context.effects.everything
    yield f"effects:{min(len(effects), 4)}"
    for effect in effects:
        yield f"effect:{effect.kind.name}"
        if effect.kind is EffectKind.CALL:
            yield from (f"effect1:{word}" for word in _words(effect.name)[:1])
            yield from (f"effect of:{word}" for word in _words(effect.name)[1:])
        else:
            yield f"changes:{effect.name.lower()}" if effect.kind is EffectKind.MUTATION else "changes"
        yield from (f"done to:{word}" for word in _words(effect.target.rpartition(".")[2]))
        if effect.target.partition(".")[0] in ("self", "cls"):
            yield "done to self"


def _of_shape(context: BlockContext) -> Iterator[str]:
    statements = context.statements
    lines = last_line(statements[-1]) - first_line(statements[0]) + 1
    yield f"lines:{sum(lines > size for size in _SIZES)}"
    yield f"inputs:{min(len(context.inputs), 5)}"
    yield f"first:{type(statements[0]).__name__}"
    yield f"last:{type(statements[-1]).__name__}"
    if context.extraction.form is not Form.RETURN:
        yield "no return"
    if context.only_raises:
        yield "only raises"
    if any(isinstance(node, ast.Return) for node in context.nodes) and not context.returned_name:
        yield "returns values"
    for statement in statements[-1:]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Await):
            yield from (f"last call:{word}" for word in _words(_name_called(statement.value)))


def _name_called(value: ast.expr) -> str:
    call = value.value if isinstance(value, ast.Await) else value
    return spelled(call).rpartition(".")[2] if isinstance(call, ast.Call) else ""


def _of_comments(context: BlockContext) -> Iterator[str]:
    begin, end = first_line(context.statements[0]), last_line(context.statements[-1])
    for number in range(begin, end + 1):
        if context.source.is_comment(number):
            words = context.source.line(number).strip().lstrip("#: ").split()[:_MOST_WORDS_OF_A_TEXT]
            yield from (f"comment:{word.strip('.,:;!?').lower()}" for word in words if word.isascii())
            if words:
                yield f"comment1:{words[0].lower()}"
