"""Names blocks after what they make: what they yield, return or bind."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from itertools import takewhile

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import serves
from actors.capabilities.violation_fix.refactoring.naming.condition_words import noun_of
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VERBS,
    is_good_noun,
    noun_quality,
    plural,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import SuggestedName, ends_plainly, joined_name


def from_yields(context: BlockContext) -> Iterator[SuggestedName]:
    yielded = [node.value for node in context.nodes if isinstance(node, ast.Yield) and node.value is not None]
    nouns = {value.id if isinstance(value, ast.Name) else None for value in yielded}
    delegates = any(isinstance(node, ast.YieldFrom) for node in context.nodes)
    noun = nouns.pop() if len(nouns) == 1 and not delegates else None
    if noun and is_good_noun(noun) and not noun.endswith("ed") and context.effects.is_pure:
        yield SuggestedName(joined_name("iterate", plural(noun)), 0.66 * noun_quality(noun), "what the block yields")


def from_returned(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what returns an object of one class after it."""
    if context.extraction.form is not Form.RETURN or not context.effects.is_pure:
        return
    values = [node.value for node in context.nodes if isinstance(node, ast.Return)]
    made = [value.func if isinstance(value, ast.Call) else None for value in values]
    nouns = {noun_of(function) if function is not None else None for function in made}
    noun = nouns.pop() if len(nouns) == 1 else None
    if noun and noun[:1].isupper() and not noun.isupper() and is_good_noun(noun):
        yield SuggestedName(joined_name("create", noun), 0.68, "what the block returns")


def _shared_words(classes: Collection[str | None]) -> list[str]:
    """Return the words that the names of classes begin and end with, if they begin with two or more."""
    split = [words_of(name) if name and name[:1].isupper() and not name.isupper() else [] for name in classes]
    first = list(takewhile(lambda column: len(set(column)) == 1, zip(*split, strict=False)))
    rests = [words[len(first) :][::-1] for words in split]
    last = list(takewhile(lambda column: len(set(column)) == 1, zip(*rests, strict=False)))
    words = [column[0] for column in (*first, *reversed(last))]
    # The rest are words of the author, as `Op` is.
    return words if len(first) > 1 and is_good_noun("_".join(words[: len(first)])) else []


def from_made(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what makes one object of a class after that, where the variable that holds it is short for it or nothing."""
    name = context.outputs[0] if len(context.outputs) == 1 else ""
    if not name or name in context.inputs or not ends_plainly(context):
        return
    if any(not serves(effect, [name]) for effect in context.effects.all):
        return
    assigned = [node for node in context.nodes if isinstance(node, ast.Assign) and name in bound_names(node)]
    made = {noun_of(each.value.func) if isinstance(each.value, ast.Call) else None for each in assigned}
    if len(made) > 1 and (name in VERBS or not is_good_noun(name)) and (words := _shared_words(made)):
        # To create a thing that creates is no sentence.
        verb = "build" if words[0] in VERBS else "create"
        yield SuggestedName(joined_name(verb, words), 0.72, "the classes of what the block makes")
    class_ = made.pop() if len(made) == 1 else None
    if class_ and class_[:1].isupper() and not class_.isupper() and is_good_noun(class_):
        is_short = words_of(class_)[-1].startswith(name) and not class_.lower().endswith(name)
        if is_short or not is_good_noun(name):
            quality = 0.83 if is_short else 0.72
            yield SuggestedName(joined_name("create", class_), quality, "the class of what the block makes")
