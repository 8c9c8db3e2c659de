"""Names a new function after what all of its code does.

A block with effects that no name covers gets none. The quality of a name is the chance, from 0 to 1, that a maintainer
takes it as it stands; the figures were set by reading what the rules made of packages that later counts leave out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind
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
from actors.capabilities.violation_fix.refactoring.naming.comment_names import (
    COMMENT_RULES,
    MAKING,
    has_poor_output,
    is_told_by_comment_alone,
)
from actors.capabilities.violation_fix.refactoring.naming.condition_words import BUILTIN_TYPES
from actors.capabilities.violation_fix.refactoring.naming.deeds import (
    hides_deeds,
)
from actors.capabilities.violation_fix.refactoring.naming.failure_names import (
    from_failure_message,
    from_raised_message,
)
from actors.capabilities.violation_fix.refactoring.naming.learned.block_features import features_of
from actors.capabilities.violation_fix.refactoring.naming.learned.judgement import (
    judged,
    likely_verbs,
    with_likely_verb,
)
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_model import verb_model
from actors.capabilities.violation_fix.refactoring.naming.made_names import from_made, from_returned, from_yields
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    DISTRIBUTIVE_VERBS,
    MIDDLING_NOUNS,
    VERBS,
    in_camel_case,
    is_good_noun,
    is_plural_of_no_noun,
    noun_quality,
    singular,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.output_names import from_outputs
from actors.capabilities.violation_fix.refactoring.naming.output_verbs import (
    is_constant,
)
from actors.capabilities.violation_fix.refactoring.naming.promises import (
    CHECKING,
    promises_too_much,
    without_promise,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BRANCH_REASON,
    BY_COMMENT,
    BY_LOOP_BODY,
    SuggestedName,
    ends_plainly,
    joined_name,
)

MAX_NAME_LENGTH = 36
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
            kept = without_promise(suggestion, context)
            if kept is not None:
                _keep(_weighed(kept, context), found, context)
    if not context.extraction.crossings.yields:
        found = _judged(found, context)
    ranked = sorted(found.values(), key=lambda suggestion: (-suggestion.quality, suggestion.name))
    return [replace(each, name=in_camel_case(each.name)) for each in ranked] if context.is_camel_case else ranked


def _keep(suggestion: SuggestedName, found: dict[str, SuggestedName], context: BlockContext) -> None:
    """Keep a name that may be given, unless it is there already and as good."""
    known = found.get(suggestion.name)
    if known is not None and known.quality >= suggestion.quality:
        return
    if not hides_deeds(suggestion.name, context) and _is_acceptable(suggestion.name, context):
        found[suggestion.name] = suggestion


def _judged(found: Mapping[str, SuggestedName], context: BlockContext) -> dict[str, SuggestedName]:
    """Return names held against the verbs that authors would use, and others with such a verb."""
    verbs = likely_verbs(verb_model().verb_probabilities(features_of(context)))
    kept: dict[str, SuggestedName] = {}
    for suggestion in found.values():
        _keep(judged(suggestion, verbs), kept, context)
        mended = with_likely_verb(suggestion, verbs, context)
        if mended is not None:
            _keep(mended, kept, context)
    return kept


def _weighed(suggestion: SuggestedName, context: BlockContext) -> SuggestedName:
    """Take off for each output that the name does not tell of: a reader would not expect it."""
    words = {singular(word) for word in suggestion.name.split("_")}
    hidden = [name for name in context.outputs if not any(_is_told(word, words) for word in words_of(name))]
    # What only the code around it explains has its words from a comment.
    is_by_comment = suggestion.reason == BY_COMMENT and is_told_by_comment_alone(context)
    # To handle something may end in anything.
    is_by_comment = is_by_comment and not suggestion.name.startswith("_handle_")
    hidden = [] if is_by_comment or has_poor_output(context) else hidden
    return replace(suggestion, quality=suggestion.quality * 0.8 ** len(hidden)) if hidden else suggestion


def _is_told(word: str, words: Collection[str]) -> bool:
    """Return whether a name has a word, or the longer one that the word is short for: `max` for `maximum`."""
    return singular(word) in words or (len(word) > 2 and any(each.startswith(word) for each in words))


_SYNONYMS = (
    CHECKING,
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
    answers = bool(context.outputs) or context.extraction.form is Form.IF_JUMP
    if words[0] in CHECKING and (answers or sets):
        return False
    if promises_too_much(name, context) or any(is_plural_of_no_noun(word) for word in words[1:]):
        return False
    return all(first != second for first, second in pairwise(words))


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
    if only in BUILTIN_TYPES and verb in MAKING | _CONVERTING:
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
    if verb in MAKING and singular(words_of(goes_through or "item")[-1]) not in own:
        return
    if context.is_loop_body and context.loop_noun:
        noun = singular(context.loop_noun)
        # Not the name of a file is read, but the file.
        noun = "file" if verb in _OF_FILES and words_of(noun)[-1] in _NAMES_OF_FILES else noun
        quality = 0.8 if words_of(noun)[-1] in own else 0.7
        if verb is not None:
            yield SuggestedName(joined_name(verb, noun), quality * noun_quality(noun), BY_LOOP_BODY)
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
    *COMMENT_RULES,
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
    from_raised_message,
)
