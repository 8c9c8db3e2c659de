"""Judges by its form how likely a maintainer takes a cut whose name is good."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.blocks import Block
from actors.capabilities.violation_fix.refactoring.complexity import Function, statements_of
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Shape, stores_result
from actors.capabilities.violation_fix.refactoring.cutting.halves import is_half_assigned, is_half_built, starts_outside
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind
from actors.capabilities.violation_fix.refactoring.source_text import last_line

# The branches of a chain as long as this can be moved one by one.
LEAST_CHAIN = 3
# What the calls that replace blocks cost the reader, as a factor.
_FORM_FACTORS = {
    Form.PLAIN: 1.0,
    Form.RETURN: 1.0,
    Form.THEN_JUMP: 0.92,
    Form.IF_JUMP: 0.95,
    Form.IF_RESULT: 0.75,
    Form.IF_NONE: 0.0,
}
# Of a call whose only result is None where the caller is to jump.
_ONE_OR_NONE_FACTOR = 0.82
_SHAPE_FACTORS = {
    Shape.BODY: 1.0,
    Shape.STATEMENT: 1.0,
    Shape.PARAGRAPH: 1.0,
    Shape.PREPARED: 1.0,
    Shape.RESULT: 1.0,
    Shape.SERIES: 0.95,
    Shape.REST: 0.92,
}
# Of a function without annotations beside annotated ones.
UNTYPED_FACTOR = 0.75
# Of a function some of whose parameters have no annotation.
BARE_FACTOR = 0.85
# Of each parameter that is annotated with Any.
OPAQUE_FACTOR = 0.9
# Of a cut that is written nearly the same elsewhere in the file, and would stay there.
LIKE_FACTOR = 0.7
# Of a cut whose other half stays behind.
_HALF_FACTOR = 0.6
# Of a cut that ends with what its caller would do with the result.
_STORING_FACTOR = 0.85
_INPUT_FACTORS = (1.0, 1.0, 1.0, 1.0, 0.95, 0.85)


def fitness_of(block: Block, extraction: Extraction, context: BlockContext) -> float:
    """Return the chance that a maintainer takes the cut, if its name is good."""
    inputs, outputs = extraction.parameters, extraction.outputs
    is_one_or_none = extraction.form is Form.IF_NONE and len(outputs) == 1
    factor = _ONE_OR_NONE_FACTOR if is_one_or_none else _FORM_FACTORS[extraction.form]
    factor *= _SHAPE_FACTORS[context.cut.shape]
    factor *= _INPUT_FACTORS[len(inputs)] if len(inputs) < len(_INPUT_FACTORS) else 0.6
    factor *= 0.9 if len(outputs) == 2 else 1.0
    factor *= 0.95 ** len(set(inputs) & set(outputs))
    # A module or function handed over as an argument reads badly.
    factor *= 0.8 ** len(set(inputs) & context.defined_names)
    lines = block.last_line - block.first_line + 1
    factor *= 0.75 if lines < 4 else 0.88 if lines < 5 or lines > 45 else 1.0
    factor *= twin_factor(context)
    # Attributes belong into the constructor itself.
    factor *= 0.8 if context.function_name == "__init__" and context.effects.attributes else 1.0
    factor *= _HALF_FACTOR if _is_half(context) else 1.0
    factor *= _STORING_FACTOR if stores_result(block.statements) else 1.0
    # Beside a class, a function of `self` is a method at the wrong place.
    factor *= 0.5 if extraction.host is None and {"self", "cls"} & set(inputs) else 1.0
    factor *= 0.5 if _has_long_docstring(block.statements) else 1.0
    share = statements_of(block.statements) / max(1, statements_of(block.place.function.body))
    # An exception that was caught is half of what its handler does.
    handlers = (parent for parent in ast.walk(block.place.function) if isinstance(parent, ast.ExceptHandler))
    is_half = context.handler is None and bool(set(inputs) & {handler.name for handler in handlers})
    factor *= 0.6 if is_half else 1.0
    return factor * (0.8 if share > 0.75 and not context.is_loop_body else 1.0)


def twin_factor(context: BlockContext) -> float:
    """Return what it costs the reader that half of something symmetric would move."""
    if _is_in_chain(context):
        return 1.0
    return 0.5 if context.has_copy else 0.6 if context.has_twin else 1.0


def _is_half(context: BlockContext) -> bool:
    """Return whether the reader would find the other half of what a cut does where it was."""
    where = context.statements, context.parents, context.place.function
    attributes = {effect.name for effect in context.effects.all if effect.kind is EffectKind.ATTRIBUTE}
    inputs, outputs = frozenset(context.inputs), frozenset(context.outputs)
    return (
        is_half_built(*where, outputs - inputs)
        or is_half_assigned(*where, frozenset(attributes))
        or starts_outside(*where, inputs - outputs)
    )


def _has_long_docstring(statements: Sequence[ast.stmt]) -> bool:
    """Check for the docstring of a nested definition: its later lines would keep their old indent."""
    scopes = (
        part for statement in statements for part in ast.walk(statement) if isinstance(part, Function | ast.ClassDef)
    )
    texts = (scope.body[0] for scope in scopes if ast.get_docstring(scope) is not None)
    return any(last_line(text) > text.lineno for text in texts)


def _is_in_chain(context: BlockContext) -> bool:
    return context.label is not None and context.label.chain >= LEAST_CHAIN
