"""Holds names against what their first word promises: a result, or a check that something may fail."""

from __future__ import annotations

import ast
from dataclasses import replace

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import (
    ADDING,
    EffectKind,
    is_assertion,
    spelled,
)
from actors.capabilities.violation_fix.refactoring.naming.name_words import singular, words_in, words_of
from actors.capabilities.violation_fix.refactoring.naming.suggestion import SuggestedName, ends_plainly, joined_name

CHECKING = frozenset({"check", "ensure", "validate", "verify"})
# Their object is the result that they give back.
_OF_RESULTS = words_in(
    "assemble build calculate collect compose compute construct create determine find gather generate get make produce"
)
_OF_SOURCES = words_in("parse")
_CHANGES = (EffectKind.ATTRIBUTE, EffectKind.ITEM, EffectKind.MUTATION)
_ASSERTING = CHECKING | {"assert"}
# What is called, or added to, where something is found to be wrong.
_FAILING = _ASSERTING | words_in(
    """
    abort complain critical error errors exception exit expect fail failure failures issue issues message problem
    problems raise reject report require violation violations warn warning warnings
    """
)


def without_promise(suggestion: SuggestedName, context: BlockContext) -> SuggestedName | None:
    """Return a name that promises no result which the new function does not give: with `add`, if that is all it does.

    None where nothing of the name is left.
    """
    verb, *noun = words_of(suggestion.name)
    if verb not in _OF_RESULTS | _OF_SOURCES or not _only_changes_parameters(context):
        return suggestion
    if verb in _OF_SOURCES or not noun or not _only_adds(context) or _is_only_read("_".join(noun), context):
        return None
    return replace(suggestion, name=joined_name("add", noun))


def promises_too_much(name: str, context: BlockContext) -> bool:
    """Return whether a name promises a result that is not given, or a check where nothing can fail."""
    verb = words_of(name)[0]
    if verb in _OF_RESULTS | _OF_SOURCES:
        return _only_changes_parameters(context)
    return verb in _ASSERTING and not _may_fail(verb, context)


def _only_changes_parameters(context: BlockContext) -> bool:
    """Return whether a new function gives nothing back and does nothing but change what it is given."""
    if context.outputs or context.extraction.crossings.yields or not ends_plainly(context):
        return False
    given = set(context.inputs) - {"self", "cls"}
    effects = context.effects.all
    return bool(effects) and all(
        effect.kind in _CHANGES and effect.target.partition(".")[0] in given for effect in effects
    )


def _only_adds(context: BlockContext) -> bool:
    adds = ADDING | {"setdefault"}
    changed = [node.target for node in context.nodes if isinstance(node, ast.AugAssign)]
    return not any(isinstance(target, ast.Subscript) for target in changed) and all(
        effect.kind is EffectKind.ITEM or (effect.kind is EffectKind.MUTATION and effect.name in adds)
        for effect in context.effects.all
    )


def _is_only_read(noun: str, context: BlockContext) -> bool:
    """Return whether a noun is what is added from: to `names`, of a `file`, no file is added."""
    filled = {effect.target.rpartition(".")[2] for effect in context.effects.all}
    if any(singular(words_of(target)[-1]) == singular(words_of(noun)[-1]) for target in filled if words_of(target)):
        return False
    read = {*context.inputs, context.loop_noun or "", context.iterated_noun or "", *context.loop_targets}
    return singular(noun) in {singular(name) for name in read}


def _may_fail(verb: str, context: BlockContext) -> bool:
    """Return whether a block raises, says that something is wrong, or answers a question."""
    if context.extraction.form in (Form.RETURN, Form.IF_JUMP):
        return True
    # Who makes a folder that is missing ensures that it is there.
    calls = [effect for effect in context.effects.all if effect.kind is EffectKind.CALL]
    if verb == "ensure" and calls:
        return True
    return any(_fails(node) for node in context.nodes)


def _fails(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise) or is_assertion(node):
        return True
    if not isinstance(node, ast.Call):
        return False
    words = set(words_of(spelled(node.func).rpartition(".")[2]))
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is not None and words & ADDING:
        words |= set(words_of(spelled(owner).rpartition(".")[2])[-1:])
    return bool(words & _FAILING)
