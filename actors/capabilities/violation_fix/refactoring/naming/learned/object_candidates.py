"""Lists the nouns that the object in a block's name can be, with where in the code each comes from."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import EffectKind, spelled
from actors.capabilities.violation_fix.refactoring.naming.change_names import fixed_keys
from actors.capabilities.violation_fix.refactoring.naming.condition_words import noun_of
from actors.capabilities.violation_fix.refactoring.naming.failure_names import texts_in, words_tried
from actors.capabilities.violation_fix.refactoring.naming.message_words import subject_of_messages
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VERBS,
    common_noun,
    is_good_noun,
    plural,
    singular,
    words_of,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.source_text import first_line, last_line

_MOST_WORDS = 3
_OWN = ("self", "cls", "")


def object_candidates(context: BlockContext) -> Mapping[str, frozenset[str]]:
    """Return nouns of at most three words with the places that they come from."""
    found: dict[str, set[str]] = defaultdict(set)
    for noun, place in _nouns(context):
        words = words_of(noun.strip("_"))
        if words and len(words) <= _MOST_WORDS and is_good_noun("_".join(words)):
            found["_".join(words)].add(place)
    return {noun: frozenset(places) for noun, places in found.items()}


def _nouns(context: BlockContext) -> Iterator[tuple[str, str]]:
    yield from _of_results(context)
    yield from _of_effects(context)
    yield from _of_texts(context)
    for number, name in enumerate(context.inputs):
        yield name, "first input" if number == 0 else "input"
    if context.inputs:
        yield singular(context.inputs[0]), "one of the first input"
    if context.iterated_noun:
        yield context.iterated_noun, "items of the only loop"
    if context.loop_noun:
        yield context.loop_noun, "item of the loop around"
    words = words_of(context.function_name)
    rest = words[1:] if words and words[0] in VERBS else words
    if not context.function_name.startswith("__"):
        yield "_".join(rest), "function"
        yield plural("_".join(rest)) if rest else "", "several of the function"
        yield singular("_".join(rest)), "one of the function"
    if context.label is not None:
        yield context.label.noun, "case" if context.label.is_case else "condition"
    if context.topic:
        yield context.topic, "topic"
    for node in context.nodes:
        if isinstance(node, ast.For | ast.AsyncFor):
            yield noun_of(node.iter) or "", "gone through"


def _of_results(context: BlockContext) -> Iterator[tuple[str, str]]:
    names = list(context.outputs) or ([context.returned_name] if context.returned_name else [])
    if names:
        yield common_noun(names), "given result" if set(names) & set(context.inputs) else "result"
    values = [node.value for node in context.nodes if isinstance(node, ast.Return) and node.value is not None]
    for node in context.nodes:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id in names for each in node.targets
        ):
            values.append(node.value)
    for value in values:
        made = value.value if isinstance(value, ast.Await) else value
        if isinstance(made, ast.Call):
            name = noun_of(made.func) or ""
            if name[:1].isupper():
                yield name, "class that is made"
            else:
                yield _object_of(name), "what the maker is called for"
        elif isinstance(made, ast.Attribute):
            yield made.attr, "attribute that is given back"


def _of_effects(context: BlockContext) -> Iterator[tuple[str, str]]:
    effects = context.effects.everything
    attributes = dict.fromkeys(each.name for each in effects if each.kind is EffectKind.ATTRIBUTE)
    if 0 < len(attributes) <= 2:
        yield common_noun(list(attributes)), "attributes that are set"
    if keys := fixed_keys(context):
        yield common_noun(keys[:2]), "keys that are set"
    for effect in effects:
        owner = effect.target.rpartition(".")[2]
        if owner not in _OWN:
            yield owner, "owner of a call" if effect.kind is EffectKind.CALL else "what is changed"
        if effect.kind is EffectKind.CALL:
            only = "only " if len(effects) == 1 else "last " if effect is effects[-1] else ""
            rest = _object_of(effect.name)
            yield rest, f"object of the {only}call"
            yield plural(rest) if rest else "", f"objects of the {only}call"
            for given in effect.call.args[:1] if effect.call else []:
                yield spelled(given).rpartition(".")[2], "what a call is given"


def _of_texts(context: BlockContext) -> Iterator[tuple[str, str]]:
    begin, end = first_line(context.statements[0]), last_line(context.statements[-1])
    is_first = True
    for number in range(begin, end + 1):
        if context.source.is_comment(number) and not context.source.is_comment(number - 1):
            words, _ = words_of_comment(context.source.line(number).strip())
            yield "_".join(words[1:]), "first comment" if is_first else "comment"
            is_first = False
    if context.comment:
        words, _ = words_of_comment(context.comment)
        yield "_".join(words[1:]), "comment above"
    yield subject_of_messages(context.nodes) or "", "subject of a message"
    for text in texts_in(context.statements):
        yield "_".join(words_tried(text)[1:]), "what is said to fail"


def _object_of(name: str) -> str:
    """Return the words of a call behind its verb."""
    words = words_of(name.strip("_"))
    return "_".join(words[1:]) if words and words[0] in VERBS else ""
