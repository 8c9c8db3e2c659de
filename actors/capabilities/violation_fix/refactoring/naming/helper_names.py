"""Names a new function after what all of its code does.

A block with effects that no name covers gets none. The quality of a name is the chance, from 0 to 1, that a maintainer
takes it as it stands; the figures were set by reading what the rules made of packages that later counts leave out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.cuts import Shape
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import Effect, EffectKind
from actors.capabilities.violation_fix.refactoring.naming.case_names import CASE_RULES
from actors.capabilities.violation_fix.refactoring.naming.change_names import (
    from_attributes,
    from_calls,
    from_collection,
    from_keys,
    from_last_call,
    from_one_object,
    from_settings,
    from_shared_words,
)
from actors.capabilities.violation_fix.refactoring.naming.check_names import from_validation
from actors.capabilities.violation_fix.refactoring.naming.condition_words import BUILTIN_TYPES
from actors.capabilities.violation_fix.refactoring.naming.deeds import (
    hides_deeds,
)
from actors.capabilities.violation_fix.refactoring.naming.failure_names import from_failure_message
from actors.capabilities.violation_fix.refactoring.naming.made_names import from_made, from_returned, from_yields
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    DISTRIBUTIVE_VERBS,
    MIDDLING_NOUNS,
    VERBS,
    in_camel_case,
    is_good_noun,
    noun_of_comment,
    noun_quality,
    plural,
    singular,
    words_of,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.naming.output_names import from_outputs
from actors.capabilities.violation_fix.refactoring.naming.output_verbs import (
    is_constant,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BRANCH_REASON,
    SuggestedName,
    ends_plainly,
    joined_name,
)

MAX_NAME_LENGTH = 36
BY_COMMENT = "the comment above the block"
MAX_NAME_WORDS = 5
_MANY_CASES = 4


def suggest_names(context: BlockContext) -> list[SuggestedName]:
    """Return names for a block, best first; none where nothing in the code says what all of it does."""
    # A call for what never varies reads as if it did.
    if any(is_constant(context.nodes, name) for name in context.outputs if name not in context.inputs):
        return []
    found: dict[str, SuggestedName] = {}
    # What a generator is called for is what it yields.
    rules = _RULES if not context.extraction.crossings.yields else [rule for rule in _RULES if rule not in _OF_CHANGES]
    for rule in rules:
        for suggestion in rule(context):
            weighed = _weighed(suggestion, context)
            known = found.get(weighed.name)
            if hides_deeds(weighed.name, context):
                continue
            if _is_acceptable(weighed.name, context) and (known is None or known.quality < weighed.quality):
                found[weighed.name] = weighed
    ranked = sorted(found.values(), key=lambda suggestion: (-suggestion.quality, suggestion.name))
    return [replace(each, name=in_camel_case(each.name)) for each in ranked] if context.is_camel_case else ranked


def _weighed(suggestion: SuggestedName, context: BlockContext) -> SuggestedName:
    """Take off for each output that the name does not tell of: a reader would not expect it."""
    words = {singular(word) for word in suggestion.name.split("_")}
    hidden = [name for name in context.outputs if not any(_is_told(word, words) for word in words_of(name))]
    # What only the code around it explains has its words from a comment.
    is_by_comment = suggestion.reason == BY_COMMENT and _is_told_by_comment_alone(context)
    # To handle something may end in anything.
    is_by_comment = is_by_comment and not suggestion.name.startswith("_handle_")
    hidden = [] if is_by_comment or _has_poor_output(context) else hidden
    return replace(suggestion, quality=suggestion.quality * 0.8 ** len(hidden)) if hidden else suggestion


def _has_poor_output(context: BlockContext) -> bool:
    return len(context.outputs) == 1 and not is_good_noun(context.outputs[0])


def _is_told_by_comment_alone(context: BlockContext) -> bool:
    """Return whether the names of the outputs tell less than a comment that says what comes about."""
    return len(context.outputs) > 1 or _has_poor_output(context)


def _is_told(word: str, words: Collection[str]) -> bool:
    """Return whether a name has a word, or the longer one that the word is short for: `max` for `maximum`."""
    return singular(word) in words or (len(word) > 2 and any(each.startswith(word) for each in words))


# They promise a result.
_ASKING = frozenset({"get", "find", "determine", "compute", "calculate", "look", "count", "search", "select"})
_CHECKING = frozenset({"check", "ensure", "validate", "verify"})
_SYNONYMS = (
    _CHECKING,
    frozenset({"build", "compose", "construct", "create", "generate", "make", "produce"}),
    frozenset({"calculate", "compute", "determine", "find", "get", "lookup", "resolve"}),
    frozenset({"delete", "discard", "drop", "remove"}),
    frozenset({"handle", "process", "run", "execute"}),
)


def _is_acceptable(name: str, context: BlockContext) -> bool:
    words = words_of(name)
    if not name.isidentifier() or len(name) > MAX_NAME_LENGTH or not 2 <= len(words) <= MAX_NAME_WORDS:
        return False
    own = words_of(context.function_name)
    # `parse_rows` beside `parse_row` is told apart by loops alone; the same words in another order by nothing.
    if sorted(words) == sorted(own):
        return False
    # Nobody can tell `_check_port` from `validate_port`.
    if own[1:] == words[1:] and any({own[0], words[0]} <= verbs for verbs in _SYNONYMS):
        return False
    # Who checks gives nothing back, and sets nothing.
    sets = any(effect.kind is EffectKind.ATTRIBUTE for effect in context.effects.all)
    if words[0] in _CHECKING and (context.outputs or sets):
        return False
    return all(first != second for first, second in pairwise(words))


def _from_comment_on_result(context: BlockContext) -> Iterator[SuggestedName]:
    """Take a comment's command where what it names is all that the block, paragraphs below it included, changes."""
    words, _ = words_of_comment(context.comment) if context.comment else ([], False)
    ends_well = ends_plainly(context) or context.outputs
    if len(words) < 2 or not ends_well or (words[0] in _ASKING and context.has_guards):
        return
    changed = [_changed_by(effect) for effect in context.effects.all] + list(context.outputs)
    if changed and all(_ends_alike(words_of(name), words[1:]) for name in changed):
        yield SuggestedName(joined_name(words), 0.8, BY_COMMENT)


def _changed_by(effect: Effect) -> str:
    """Return the attribute or collection that an effect changes."""
    return effect.name if effect.kind is EffectKind.ATTRIBUTE else effect.target.rpartition(".")[2] or effect.name


def _ends_alike(name: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a name ends with the words of a phrase, or the phrase with those of the name."""
    pairs = list(zip(reversed(name), reversed(words), strict=False))
    return bool(pairs) and all(singular(one) == singular(two) for one, two in pairs)


def _from_comment(context: BlockContext) -> Iterator[SuggestedName]:
    is_alone = _is_told_by_comment_alone(context)
    if not context.comment or context.has_inner_comments or context.returns_several:
        return
    if context.has_blank_lines and not (is_alone and context.is_one_work):
        return
    used = context.words_used
    words, is_whole = words_of_comment(context.comment)
    is_used = any(word in used or singular(word) in used or plural(word) in used for word in words[1:])
    # Two words or more are a thing of their own.
    is_telling = is_whole or (len(words) > 2 and len(context.outputs) < 2)
    if words and (is_used or (is_telling and context.cut.shape is not Shape.REST)):
        quality = (0.8 if is_whole else 0.66) if context.cut.shape is not Shape.REST else 0.5
        quality -= 0.06 * (not is_used) + 0.1 * context.has_long_comment
        if words[0] in _ASKING and not context.outputs and not context.effects.is_pure:
            return
        # Who asks for something does not change what was there.
        if words[0] in _ASKING and set(context.outputs) & set(context.inputs):
            return
        yield SuggestedName(joined_name(words), quality, BY_COMMENT)
    heading = noun_of_comment(context.comment) if not context.has_long_comment else []
    if (
        heading
        and ends_plainly(context)
        and context.function_verb in DISTRIBUTIVE_VERBS
        and context.cut.shape is not Shape.REST
    ):
        # To build the whole is to add the parts.
        verb = "add" if context.only_adds and context.function_verb in _MAKING else context.function_verb
        yield SuggestedName(joined_name(verb or "", heading), 0.68, "the heading above the block")


def _from_skipping(context: BlockContext) -> Iterator[SuggestedName]:
    """Name tests that only decide whether to go on after what they decide."""
    extraction = context.extraction
    if extraction.form is not Form.IF_JUMP or not context.only_tests or not context.effects.is_pure:
        return
    if isinstance(extraction.jump, ast.Continue) and context.loop_noun:
        yield SuggestedName(joined_name("should_skip", context.loop_noun), 0.8, "tests that skip an item of the loop")


def _from_branch(context: BlockContext) -> Iterator[SuggestedName]:
    label = context.label
    if label is None or label.noun.startswith("missing") or context.extraction.form is Form.IF_JUMP:
        return
    if label.chain < 2 and not (context.is_main_part or context.extraction.crossings.yields):
        return
    quality = 0.62 if label.is_case else 0.54
    quality += 0.1 if label.chain >= 3 else 0.04 if label.chain == 2 else 0.0
    verb, noun = context.function_verb, context.function_noun
    # One word for a flag, such as `double`, tells nothing of what is done.
    tells = label.is_case or len(words_of(label.noun)) > 1 or label.noun.endswith("s")
    # `_read_search` and `_parse_function` could be about anything of that name.
    only = words_of(label.noun)[0] if "_" not in label.noun else ""
    tells = tells and only not in VERBS | MIDDLING_NOUNS
    # A type that is given is not what is built: `_build_tuple` would say so.
    if only in BUILTIN_TYPES and verb in _MAKING | _CONVERTING:
        return
    # Who draws or writes calls somebody; what only sets attributes prepares it.
    kinds = {effect.kind for effect in context.effects.all}
    if verb in _GIVING_OUT and kinds == {EffectKind.ATTRIBUTE}:
        return
    if verb in DISTRIBUTIVE_VERBS and tells:
        yield SuggestedName(joined_name(verb, label.noun), quality + 0.04, BRANCH_REASON)
    elif (
        label.is_case
        and verb
        and noun
        and verb not in ("init", "handle")
        and words_of(noun)[-1] != words_of(label.noun)[-1]
    ):
        yield SuggestedName(joined_name(verb, label.noun, singular(noun)), quality, BRANCH_REASON)
    elif verb and label.is_case and context.is_branch_body and words_of(context.function_name) == [verb] and tells:
        # `copy` of a directory.
        yield SuggestedName(joined_name(verb, label.noun), quality, BRANCH_REASON)
    # One of many cases that all give the same result is told by its case.
    most_outputs = 1 if label.chain >= _MANY_CASES and context.is_branch_body else 0
    # What `copy` does with a file is no more handled than copied.
    is_told = words_of(context.function_name) != [verb]
    if (
        label.is_case
        and label.chain >= 2
        and ends_plainly(context)
        and len(context.outputs) <= most_outputs
        and is_told
    ):
        yield SuggestedName(joined_name("handle", label.noun), quality - 0.02, BRANCH_REASON)


# What they make is in the name of the function, not what a loop goes through for it.
_MAKING = frozenset({"build", "construct", "create", "generate"})


_GIVING_OUT = frozenset({"display", "draw", "dump", "emit", "print", "save", "send", "show", "write"})
_CONVERTING = frozenset({"convert", "decode", "deserialize", "get", "load", "make", "normalize", "parse", "read"})
_OF_FILES = frozenset({"parse", "read", "load", "scan", "process", "import", "compile", "check", "analyze", "tokenize"})
_NAMES_OF_FILES = frozenset({"filename", "filepath", "pathname"})
_OF_ITEMS = DISTRIBUTIVE_VERBS | {"handle"}


def _from_loop(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a loop, or the body of one, after what the function does to all items."""
    verb = context.function_verb if context.function_verb in _OF_ITEMS and context.is_main_part else None
    own = {singular(word) for word in words_of(context.function_noun or "")}
    goes_through = context.loop_noun if context.is_loop_body else context.iterated_noun
    if verb in _MAKING and singular(words_of(goes_through or "item")[-1]) not in own:
        return
    if context.is_loop_body and context.loop_noun:
        noun = singular(context.loop_noun)
        # Not the name of a file is read, but the file.
        noun = "file" if verb in _OF_FILES and words_of(noun)[-1] in _NAMES_OF_FILES else noun
        quality = 0.8 if words_of(noun)[-1] in own else 0.7
        if verb is not None:
            yield SuggestedName(joined_name(verb, noun), quality * noun_quality(noun), "the loop's body")
    elif context.iterated_noun and is_good_noun(context.iterated_noun):
        noun = context.iterated_noun
        if verb is not None:
            yield SuggestedName(joined_name(verb, noun), 0.62 * noun_quality(noun), "the loop over " + noun)


_Rule = Callable[[BlockContext], Iterator[SuggestedName]]
_OF_CHANGES: Sequence[_Rule] = (
    from_attributes,
    from_keys,
    from_shared_words,
    from_last_call,
    from_collection,
    from_calls,
    from_one_object,
    from_settings,
)
_RULES: Sequence[_Rule] = (
    _from_comment,
    _from_comment_on_result,
    _from_skipping,
    from_outputs,
    from_validation,
    *_OF_CHANGES,
    _from_branch,
    *CASE_RULES,
    _from_loop,
    from_yields,
    from_returned,
    from_made,
    from_failure_message,
)
