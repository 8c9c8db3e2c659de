"""Names a block after its outputs, with a verb for how they come about."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import Effect, EffectKind, serves
from actors.capabilities.violation_fix.refactoring.naming.deeds import (
    PURE_VERBS,
    UNTOLD,
    deeds_in,
    makes_by_deed,
)
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    common_noun,
    is_good_noun,
    noun_quality,
    singular,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.output_verbs import (
    QUESTION_WORDS,
    is_flag,
    opens_to_read,
    verb_for,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import OUTPUT_REASON, SuggestedName, joined_name

# What is called so is done, and no thing that a verb goes with.
_DEEDS = frozenset({"create", "delete", "drop", "remove"})


def from_outputs(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what makes one or two things after these, with a verb for how they come about."""
    names = list(context.outputs)
    if context.extraction.form is Form.RETURN and (returned := context.returned_name):
        names = [returned] if any(returned in bound_names(statement) for statement in context.statements) else []
    if not names or len(names) > 2 or not all(is_good_noun(name) and name not in _DEEDS for name in names):
        return
    asks = len(names) == 1 and words_of(names[0])[0] in QUESTION_WORDS and names[0] not in context.inputs
    if any(is_flag(context.nodes, name) for name in names) and not asks:
        return
    found = _verb_beside_effects(context, names)
    if found is None:
        return
    verb, quality = found
    noun = common_noun(names)
    quality *= min(noun_quality(name) for name in names)
    if "_and_" in noun:
        # What is worked out of other things has two results; what is changed has had them before.
        quality -= 0.15 if set(names) & set(context.inputs) else 0.05
    noun = _which(noun, context) if verb == "determine" else noun
    verb, quality = _verb_of_missing(verb, quality, context)
    if not noun:
        return
    if asks:
        yield SuggestedName("_" + noun, quality, f"{OUTPUT_REASON}{names[0]}")
        return
    quality *= 0.8 if _is_one_of_several(context) else 1.0
    # What is asserted beside it is no part of how a thing is made.
    quality *= 0.8 if verb == "create" and any(isinstance(node, ast.Assert) for node in context.nodes) else 1.0
    if set(words_of(noun)) == set(words_of(context.function_noun or "")):
        quality -= 0.15
    if noun_quality(noun) < 1.0 and set(names) & set(context.inputs):
        quality *= 0.9
    started = {word for effect in context.effects.of_success for word in _started_by(effect)} - {verb}
    if len(started) > 1:
        return
    told = [verb, "and", *started] if started else [verb]
    yield SuggestedName(joined_name(told, noun), quality, f"{OUTPUT_REASON}{', '.join(names)}")


def _verb_of_missing(verb: str, quality: float, context: BlockContext) -> tuple[str, float]:
    """Return the verb for a result that may be missing: it is looked for, or read; to get it promises too much."""
    may_be_missing = context.extraction.form is Form.IF_NONE
    if verb not in ("get", "determine") or not (context.has_guards or may_be_missing):
        return verb, quality
    return ("find", quality - 0.1) if may_be_missing and len(context.outputs) == 1 else (verb, quality - 0.25)


def _which(noun: str, context: BlockContext) -> str:
    """Return a noun that says which of several things are meant, or nothing where the block does not tell."""
    if len(words_of(noun)) > 1 or singular(noun) == noun:
        return noun
    given = context.inputs[0] if len(context.inputs) == 1 else ""
    return f"{given}_{noun}" if given and given != noun and is_good_noun(given) else ""


# What is done to a thing once it is there, and is more than a way to make it.
_LATER = frozenset(
    {"authenticate", "commit", "connect", "execute", "fit", "install", "launch", "listen", "run", "save", "send"}
    | {"start", "submit", "train", "upload"}
)


def _started_by(effect: Effect) -> Iterator[str]:
    """Yield the verb of a call that does more to a thing than its making: `partial_fit` fits it."""
    words = words_of(effect.name) if effect.kind is EffectKind.CALL else []
    if words and words[-1] in _LATER:
        yield words[-1]
    elif words and words[0] in _LATER:
        yield words[0]


def _verb_beside_effects(context: BlockContext, names: Sequence[str]) -> tuple[str, float] | None:
    """Return the verb for how a block comes by its outputs, which tells its effects too, and how sure it is."""
    verb, quality = _verb_for_all(context, names)
    deeds = deeds_in(context)
    if len(deeds) > 1:
        return None
    if deeds and verb in PURE_VERBS:
        if UNTOLD in deeds or not makes_by_deed(names, context):
            return None
        verb, quality = next(iter(deeds)), min(quality, 0.7)
    effects = [effect for effect in context.effects.of_success if not serves(effect, names)]
    if not effects:
        return verb, quality
    # Reading a file and the like is an effect that the verb of the output can cover.
    verbs = {next(iter(words_of(effect.name)), "") for effect in effects}
    covered = verbs.pop() if len(verbs) == 1 else ""
    covers = covered in _READING or covered in deeds
    return (covered, 0.7) if covers and all(effect.kind is EffectKind.CALL for effect in effects) else None


def _verb_for_all(context: BlockContext, names: Sequence[str]) -> tuple[str, float]:
    """Return one verb for how a block comes by its outputs, and how sure it is."""
    found = [verb_for(context.nodes, context.statements, name, name in context.inputs) for name in names]
    verb, quality = min(found, key=lambda pair: pair[1])
    if opens_to_read(context.nodes) and all(verb in _OF_ANY_SOURCE for verb, _ in found):
        return "read", quality
    if len({verb for verb, _ in found}) > 1:
        return "determine", quality - (0.1 if set(names) & set(context.inputs) else 0.05)
    return verb, quality


_OF_ANY_SOURCE = frozenset({"build", "collect", "compute", "determine", "find", "get"})
_READING = frozenset({"read", "receive", "recv", "consume", "next", "expect"})


def _is_one_of_several(context: BlockContext) -> bool:
    """Return whether a block is a branch of a chain of cases, the others of which may make the same."""
    label = context.label
    return context.is_branch_body and label is not None and label.is_case and label.chain > 1
