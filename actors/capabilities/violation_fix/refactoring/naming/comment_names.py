"""Names blocks after what comments say is done."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.cutting.cuts import Shape
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import Effect, EffectKind
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    DISTRIBUTIVE_VERBS,
    is_good_noun,
    noun_of_comment,
    plural,
    singular,
    words_of,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BY_COMMENT,
    BY_HEADING,
    SuggestedName,
    ends_plainly,
    joined_name,
)
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line

# They promise a result.
_ASKING = frozenset({"get", "find", "determine", "compute", "calculate", "look", "count", "search", "select"})
# What they make is in the name of the function, not what a loop goes through for it.
MAKING = frozenset({"build", "construct", "create", "generate"})
_SENTENCE_END = re.compile(r"(?<=[.;])\s+")


def has_poor_output(context: BlockContext) -> bool:
    return len(context.outputs) == 1 and not is_good_noun(context.outputs[0])


def is_told_by_comment_alone(context: BlockContext) -> bool:
    """Return whether the names of the outputs tell less than a comment that says what comes about."""
    return len(context.outputs) > 1 or has_poor_output(context)


def from_comment_on_result(context: BlockContext) -> Iterator[SuggestedName]:
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


def from_comment(context: BlockContext) -> Iterator[SuggestedName]:
    is_alone = is_told_by_comment_alone(context)
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
        verb = "add" if context.only_adds and context.function_verb in MAKING else context.function_verb
        yield SuggestedName(joined_name(verb or "", heading), 0.68, BY_HEADING)


def from_later_sentence(context: BlockContext) -> Iterator[SuggestedName]:
    """Take the command of a later sentence of a comment, where the first one only tells why."""
    first, *later = _SENTENCE_END.split(context.comment or "")
    if not later or words_of_comment(first)[0] or context.has_inner_comments or context.has_blank_lines:
        return
    told = [words for words, _ in (words_of_comment("# " + each) for each in later) if words]
    if len(told) == 1:
        yield from _named_by(told[0], context, 0.62)


def from_comment_inside(context: BlockContext) -> Iterator[SuggestedName]:
    """Take the command of the one comment in a block, where it stands at the head of all that is done there."""
    only = context.statements[0] if len(context.statements) == 1 else None
    if not isinstance(only, ast.If | ast.For | ast.With) or getattr(only, "orelse", []) or context.comment:
        return
    begin, end = first_line(only), last_line(only)
    numbers = [number for number in range(begin, end + 1) if context.source.is_comment(number)]
    head = first_line(only.body[0])
    if not numbers or numbers != list(range(head - len(numbers), head)):
        return
    text = " ".join(context.source.line(number).strip().lstrip("#: ") for number in numbers)
    words, is_whole = words_of_comment("# " + text)
    if words and not context.has_blank_lines:
        yield from _named_by(words, context, 0.66 if is_whole else 0.6)


def _named_by(words: Sequence[str], context: BlockContext, quality: float) -> Iterator[SuggestedName]:
    """Name a block by a command whose object the code speaks of as well."""
    used = context.words_used
    is_used = any({word, singular(word), plural(word)} & used for word in words[1:])
    changes = not context.effects.is_pure or bool(set(context.outputs) & set(context.inputs))
    if is_used and not (words[0] in _ASKING and (changes or not context.outputs)):
        yield SuggestedName(joined_name(words), quality, BY_COMMENT)


COMMENT_RULES = (from_comment, from_comment_on_result, from_later_sentence, from_comment_inside)
