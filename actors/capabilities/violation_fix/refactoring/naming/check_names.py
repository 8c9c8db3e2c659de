"""Names what does nothing but raise where something is wrong after what it checks."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import parameters_of
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.condition_words import is_flag_test, tested_nouns
from actors.capabilities.violation_fix.refactoring.naming.message_words import subject_of_messages
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VERBS,
    common_noun,
    is_good_noun,
    noun_quality,
    plural,
    words_in,
    words_of,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import SuggestedName, joined_name

_LINKS = words_in("from to of for with by as in on at")


def from_validation(context: BlockContext) -> Iterator[SuggestedName]:
    if not context.only_raises or all(is_flag_test(test) for test in context.tests):
        return
    label = context.label
    if label is not None and not label.noun.startswith("missing") and context.is_branch_body:
        yield SuggestedName(joined_name("check", label.noun), 0.72, "the branch whose tests raise")
    counted: Counter[str] = Counter()
    for test in context.tests:
        nouns = set(tested_nouns(test, context.place.locals))
        counted.update(nouns - context.bound)
        # One item of a loop after the other is checked.
        counted.update({plural(name) for name in nouns & context.loop_targets if is_good_noun(name)})
    most = max(counted.values(), default=0)
    share = most / len(context.tests)
    noun = common_noun(sorted(name for name, count in counted.items() if count == most)) if most else ""
    if share >= 0.66 and "_and_" not in noun and is_good_noun(noun):
        quality = 0.8 if share == 1.0 else 0.68
        yield SuggestedName(_check_of(noun, context), quality * noun_quality(noun), "tests that raise")
    subject = subject_of_messages(context.nodes)
    if subject is not None and any(word in context.words_used for word in words_of(subject)):
        quality = 0.72 * noun_quality(subject)
        yield SuggestedName(_check_of(subject, context), quality, "the messages that are raised")
    parameters = {argument.arg for argument in context.place.parameters} - {"self", "cls"}
    tested = [set(tested_nouns(test, context.place.locals)) for test in context.tests]
    if all(names & parameters for names in tested) and len(parameters & set(counted)) > 1:
        yield from _of_arguments(context)


def _of_arguments(context: BlockContext) -> Iterator[SuggestedName]:
    """Name tests of several arguments after the function, unless it is alone in the file or makes the class."""
    reason = "tests of arguments that raise"
    is_constructor = context.function_name == "__init__"
    is_of_class = is_constructor and context.extraction.host is not None
    # Beside a class, the plain name would be one for all of its methods.
    is_beside = context.place.is_method and context.extraction.host is None
    if is_of_class or not (is_beside or any(_others(context))):
        yield SuggestedName("_check_arguments", 0.7, reason)
    own = context.place.parents[-1].name if is_constructor and context.place.is_method else _subject_of(context)
    if own and not is_of_class:
        yield SuggestedName(joined_name("check", own, "arguments"), 0.7, reason)


def _check_of(noun: str, context: BlockContext) -> str:
    """Return the name of a check; that of a parameter which other functions take too is told by the function."""
    own = {argument.arg for argument in context.place.parameters}
    if noun not in own or not any(noun in _parameters(other) for other in _others(context)):
        return joined_name("check", noun)
    subject = _subject_of(context)
    # A function that is about the same thing may check it for all.
    is_told = not subject or bool(set(words_of(noun)) & set(words_of(subject)))
    return joined_name("check", noun) if is_told else joined_name("check", subject, noun)


def _subject_of(context: BlockContext) -> str:
    """Return what the function is about, less what it is made from: of `build_graph_from_model` it is `graph`."""
    words = words_of(context.function_name)
    if context.function_name.startswith("__"):
        return ""
    words = words[1:] if len(words) > 1 and words[0] in VERBS else words
    end = next((number for number, word in enumerate(words) if word in _LINKS and number), len(words))
    noun = "_".join(words[:end][-2:])
    return noun if is_good_noun(noun) else ""


def _others(context: BlockContext) -> Iterator[Function]:
    """Yield the functions of the file beside the one around the block."""
    inside = {id(node) for node in ast.walk(context.place.function)}
    around = {id(parent) for parent in context.place.parents}
    for node in ast.walk(context.source.tree):
        if isinstance(node, Function) and id(node) not in inside | around:
            yield node


def _parameters(function: Function) -> frozenset[str]:
    return frozenset(argument.arg for argument in parameters_of(function.args))
