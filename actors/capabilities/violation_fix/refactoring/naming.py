"""Names a new function after its code: the comment above it, condition, outputs, main call, loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.name_words import (
    is_good_noun,
    is_middling_noun,
    plural,
    singular,
    words_of,
    words_of_comment,
)

MAX_NAME_LENGTH = 36
MAX_NAME_WORDS = 5


@dataclass(frozen=True, slots=True)
class SuggestedName:
    """Proposes a name; `quality` is between 0 and 1, and `reason` tells what it was derived from."""

    name: str
    quality: float
    reason: str


def suggest_names(context: BlockContext, extraction: Extraction) -> list[SuggestedName]:
    """Return names for a block, best first; none where nothing in the code says what it does."""
    found: dict[str, SuggestedName] = {}
    rules: Sequence[Callable[[BlockContext, Extraction], Iterator[SuggestedName]]] = (
        _from_comment,
        _from_skipping,
        _from_outputs,
        _from_validation,
        _from_branch,
        _from_handler,
        _from_loop,
        _from_loop_body,
        _from_main_call,
        _from_mutation,
    )
    is_rest_of_chain = context.source.is_elif(extraction.first)
    for rule in (_from_chain,) if is_rest_of_chain else rules:
        for suggestion in rule(context, extraction):
            known = found.get(suggestion.name)
            if _is_acceptable(suggestion.name, context) and (known is None or known.quality < suggestion.quality):
                found[suggestion.name] = suggestion
    return sorted(found.values(), key=lambda suggestion: (-suggestion.quality, suggestion.name))


def _is_acceptable(name: str, context: BlockContext) -> bool:
    words = name.strip("_").split("_")
    if (
        len(name) > MAX_NAME_LENGTH
        or not 2 <= len(words) <= MAX_NAME_WORDS
        or name.strip("_") == context.function_name.strip("_")
    ):
        return False
    return all(first != second for first, second in pairwise(words))


def _joined(*parts: str | Sequence[str]) -> str:
    words: list[str] = []
    for part in parts:
        for word in words_of(part) if isinstance(part, str) else part:
            if not words or words[-1] != word:
                words.append(word)
    return "_" + "_".join(words)


def _from_comment(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    if context.comment:
        words = words_of_comment(context.comment)
        if words:
            # A comment in front of the first of several commented parts speaks of that part alone.
            quality = 0.62 if context.has_inner_comments else 0.9
            yield SuggestedName(_joined(words), quality, "the comment above the block")


def _from_skipping(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    """Name tests that only decide whether to go on after what they decide."""
    if extraction.form is not Form.IF_JUMP or not context.only_tests:
        return
    if isinstance(extraction.jump, ast.Continue) and context.loop_noun:
        yield SuggestedName(_joined("should_skip", context.loop_noun), 0.8, "tests that skip an item of the loop")
    elif isinstance(extraction.jump, ast.Break) and context.loop_noun:
        yield SuggestedName(_joined("should_stop_at", context.loop_noun), 0.7, "tests that end the loop")


def _from_outputs(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    names = list(extraction.outputs)
    if extraction.form is Form.RETURN and (returned := context.returned_name):
        names = [returned]
    if not names or len(names) > 2:
        return
    good = [name for name in names if is_good_noun(name)]
    if len(good) < len(names):
        return
    middling = any(is_middling_noun(name) for name in good)
    noun = "_and_".join(name.strip("_") for name in good)
    verb, quality = context.verb_for(good[0])
    # The name would hide what else the block changes.
    quality -= 0.14 if context.sets_attributes else 0.0
    if middling and context.function_noun and len(good) == 1:
        yield SuggestedName(_joined(verb, context.function_noun, noun), quality - 0.15, f"the output {noun}")
    yield SuggestedName(
        _joined(verb, noun), quality - 0.25 * middling - 0.1 * (len(good) - 1), f"the output {', '.join(names)}"
    )


def _from_validation(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    if extraction.outputs or not context.only_raises:
        return
    for noun in context.tested_nouns:
        yield SuggestedName(_joined("check", noun), 0.75, "tests that raise")


def _from_branch(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    description = context.branch_description
    if not description:
        return
    if description.startswith("missing"):
        yield SuggestedName(_joined("handle", description), 0.45, "the condition of the branch")
        return
    verb = context.function_verb
    if extraction.outputs and set(extraction.outputs) <= set(extraction.parameters):
        verb = "add"
    if verb is not None:
        yield SuggestedName(_joined(verb, description), 0.68, "the condition of the branch")
        if context.function_noun and words_of(context.function_noun)[-1] != words_of(description)[-1]:
            yield SuggestedName(
                _joined(verb, description, singular(context.function_noun)), 0.62, "the condition of the branch"
            )
    call_verb = context.main_verb
    if call_verb is not None:
        yield SuggestedName(_joined(call_verb, description), 0.6, "the condition of the branch")
    yield SuggestedName(_joined("handle", description), 0.55, "the condition of the branch")


def _from_chain(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    """Name the rest of a chain of branches after what all its conditions look at."""
    first = extraction.first
    if not isinstance(first, ast.If):
        return
    verb = context.function_verb or context.main_verb or "handle"
    for noun in context.chain_nouns[:1]:
        yield SuggestedName(_joined(verb, "other", plural(noun)), 0.5, "what the rest of the chain looks at")
    if context.function_noun:
        noun = plural(context.function_noun)
        yield SuggestedName(_joined(verb, "other", noun), 0.45, "what is left of the chain")


def _from_handler(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    if context.handled_error:
        yield SuggestedName(_joined("handle", context.handled_error), 0.65, "the error that is handled")


def _from_loop(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    """Name a block that is one loop after what it does to the items."""
    noun = context.iterated_noun
    if noun is None or not is_good_noun(noun):
        return
    if not context.main_verb and any(changed == noun for changed, _ in context.mutations):
        yield SuggestedName(_joined("update", noun), 0.67, "the loop over " + noun)
    verb = context.main_verb or context.function_verb
    if verb is not None:
        yield SuggestedName(_joined(verb, plural(noun)), 0.66 - 0.15 * is_middling_noun(noun), "the loop over " + noun)


def _from_loop_body(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    noun = context.loop_noun
    if not context.is_loop_body or noun is None:
        return
    verb = context.function_verb or context.main_verb
    if verb is not None:
        yield SuggestedName(
            _joined(verb, singular(noun)), 0.7 - 0.15 * is_middling_noun(noun), "the body of the loop over " + noun
        )
    if context.main_verb:
        yield SuggestedName(
            _joined(context.main_verb, singular(noun)), 0.65 - 0.15 * is_middling_noun(noun), "the loop's main call"
        )


def _from_main_call(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    for words, weight in context.main_calls:
        yield SuggestedName(_joined(words), 0.58 * weight, "the main call of the block")


def _from_mutation(context: BlockContext, extraction: Extraction) -> Iterator[SuggestedName]:
    for noun, verb in context.mutations:
        if is_good_noun(noun):
            yield SuggestedName(
                _joined(verb, noun), 0.55 - 0.1 * is_middling_noun(noun), f"what the block does to {noun}"
            )
